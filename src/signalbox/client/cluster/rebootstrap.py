"""The rebootstrap state machine (KIP-899, KIP-1102, KIP-1242), without I/O and without a clock of its own.

The owner reports events (`now_ms` on any monotonic clock) and executes the Action that is returned. The transition
table is in `rebootstrap_table.py`; this module maps events to its signals: generations, the cluster id policy, the
timer, and the limit on rebootstraps (at once, then 1, 2, 4 … 60 s apart).

A generation is the time between two rebootstraps; reports about an older one are late and change nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from signalbox.client.cluster.quarantine import FIRST_BACKOFF_MS, MAX_BACKOFF_MS, Quarantine, Route
from signalbox.client.cluster.rebootstrap_table import TRANSITIONS, Action, Phase, Signal
from signalbox.client.connection.node import Identity
from signalbox.common.backoff import Backoff
from signalbox.protocol.error_table import Error


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryPolicy:
    """The client's configuration of the state machine, from Kafka's keys."""

    metadata_recovery_strategy: str = "rebootstrap"
    rebootstrap_trigger_ms: float = 300_000
    cluster_check_enabled: bool = True
    seed_pause_ms: float = 50
    seed_pause_max_ms: float = 1_000

    @property
    def may_start_over(self) -> bool:
        return self.metadata_recovery_strategy == "rebootstrap"

    @property
    def sends_identity(self) -> bool:
        """Whether identity is sent: only by a client that can rebootstrap after a rejection."""
        return self.cluster_check_enabled and self.may_start_over


class ClusterIdPolicy:
    """Which cluster a client may use: `signalbox.cluster.id.policy` = follow | pin:<id> | pin-first.

    KIP-1242 does not protect the bootstrap: a client accepts a bootstrap server of another cluster (misroute stories 1
    to 3). A pinned client rejects it. `follow` keeps Kafka's behavior: after a rebootstrap it may use another cluster.
    `pinned` is the cluster id that is pinned so far.
    """

    def __init__(self, text: str = "follow") -> None:
        self.text = text
        self._pin_first = text == "pin-first"
        self.pinned: str | None = text.removeprefix("pin:") if text.startswith("pin:") else None
        if text not in ("follow", "pin-first") and not self.pinned:
            raise ValueError(f"signalbox.cluster.id.policy {text!r} is none of follow, pin-first, pin:<cluster id>")

    def accepts(self, cluster_id: str | None) -> bool:
        """Whether Metadata of this cluster may be applied. A response without a cluster id never matches a pin."""
        return self.pinned is None or cluster_id == self.pinned

    def adopted(self, cluster_id: str | None) -> None:
        """Metadata of this cluster was applied: `pin-first` pins the first cluster id."""
        if self._pin_first and self.pinned is None:
            self.pinned = cluster_id


class Rebootstrap:
    """A client's state. Read `phase`, `generation`, `cluster_id`, `starts_over`; report events through the methods."""

    def __init__(self, policy: RecoveryPolicy, cluster_policy: ClusterIdPolicy, quarantine: Quarantine) -> None:
        self.policy = policy
        self.cluster_policy = cluster_policy
        self.quarantine = quarantine
        self.phase = Phase.BOOTSTRAP
        self.generation = 0
        self.cluster_id: str | None = None
        self.foreign_cluster_id: str | None = None
        self.starts_over = 0
        self._first_failure_ms: float | None = None
        self._pause_until_ms = 0.0
        self._pause = Backoff(policy.seed_pause_ms, policy.seed_pause_max_ms)  # ms
        self._start_over_at_ms = 0.0
        self._start_over_backoff_ms = FIRST_BACKOFF_MS

    def identity_of(self, node_id: int) -> Identity | None:
        """The identity to send to a node: both ids, or None (bootstrap servers, unknown cluster, check disabled)."""
        if node_id < 0 or self.cluster_id is None or not self.policy.sends_identity:
            return None
        return Identity(self.cluster_id, node_id)

    def metadata_received(
        self, generation: int, cluster_id: str | None, broker_count: int, error_code: int, now_ms: float
    ) -> Action:
        """A Metadata response arrived. With ADOPT the caller applies it to the view."""
        if generation != self.generation:
            return Action.IGNORE
        if error_code == Error.REBOOTSTRAP_REQUIRED:
            return self._signal(Signal.METADATA_REJECTED, now_ms)
        if broker_count == 0:
            return self._signal(Signal.METADATA_FAILED, now_ms)
        if self._is_foreign(cluster_id):
            self.foreign_cluster_id = cluster_id
            return self._signal(Signal.FOREIGN_CLUSTER, now_ms)
        action = self._signal(Signal.CLUSTER_ID_OBSERVED, now_ms)
        if action is Action.ADOPT:
            self.cluster_id = cluster_id
            self.cluster_policy.adopted(cluster_id)
            self._first_failure_ms = None
            self._pause.reset()
        return action

    def metadata_failed(self, generation: int, now_ms: float) -> Action:
        """A Metadata request failed, at any node."""
        return self._signal(Signal.METADATA_FAILED, now_ms) if generation == self.generation else Action.IGNORE

    def seeds_exhausted(self, generation: int, now_ms: float) -> Action:
        """Every bootstrap server was tried, none returned usable Metadata."""
        return self._signal(Signal.SEEDS_EXHAUSTED, now_ms) if generation == self.generation else Action.IGNORE

    def no_usable_node(self, now_ms: float) -> Action:
        """No known node is usable: all are disconnected and in backoff, or quarantined. (Not when all are busy.)"""
        if now_ms < self._start_over_at_ms:
            return Action.IGNORE
        return self._signal(Signal.NO_USABLE_NODE, now_ms)

    def route_rejected(self, route: Route, generation: int, now_ms: float) -> Action:
        """ApiVersions on the connection to `route` returned 129. QUARANTINE: the route is already quarantined."""
        if generation != self.generation:
            return Action.IGNORE
        rejected_route = self.quarantine.note_rejection(route, now_ms)
        is_repeated = rejected_route.rejections > 1 or rejected_route.recurs or now_ms < self._start_over_at_ms
        action = self._signal(Signal.ROUTE_REJECTED_AGAIN if is_repeated else Signal.ROUTE_REJECTED, now_ms)
        if action is Action.QUARANTINE:
            self.quarantine.add(route, now_ms)
        return action

    def route_verified(self, route: Route) -> None:
        """The node at `route` confirmed its identity."""
        self.quarantine.release(route)

    def tick(self, now_ms: float) -> Action:
        """Time has passed: the pause between rounds, or the KIP-1102 timer, may have ended."""
        if self.phase is Phase.PAUSED and now_ms >= self._pause_until_ms:
            return self._signal(Signal.PAUSE_OVER, now_ms)
        first_failure_ms = self._first_failure_ms
        if first_failure_ms is not None and now_ms - first_failure_ms >= self.policy.rebootstrap_trigger_ms:
            return self._signal(Signal.TRIGGER_ELAPSED, now_ms)
        return Action.IGNORE

    def wake_at_ms(self) -> float | None:
        """When `tick` must be called next; None when no timer runs."""
        if self.phase is Phase.PAUSED:
            return self._pause_until_ms
        if self._first_failure_ms is not None and self.policy.may_start_over:
            return self._first_failure_ms + self.policy.rebootstrap_trigger_ms
        return None

    def _is_foreign(self, cluster_id: str | None) -> bool:
        if not self.cluster_policy.accepts(cluster_id):
            return True
        has_cluster = self.phase in (Phase.STEADY, Phase.OVERDUE) and self.cluster_id is not None
        return has_cluster and cluster_id != self.cluster_id and self.policy.sends_identity

    def _signal(self, signal: Signal, now_ms: float) -> Action:
        phase, action = TRANSITIONS[self.phase, signal]
        if action is Action.START_OVER and not self.policy.may_start_over:
            return Action.IGNORE
        self.phase = phase
        if action is Action.START_OVER:
            if now_ms < self._start_over_at_ms:  # too soon after the last one: drop all, then pause
                self.phase, self._pause_until_ms = Phase.PAUSED, self._start_over_at_ms
            self._start_over(now_ms)
        elif action is Action.PAUSE:
            self._pause_until_ms = now_ms + self._pause.grow()
        elif action is Action.ARM_TIMER:
            self._first_failure_ms = now_ms
        return action

    def _start_over(self, now_ms: float) -> None:
        self.generation += 1
        self.starts_over += 1
        self.cluster_id = None
        self._first_failure_ms = None
        is_settled = now_ms - self._start_over_at_ms > self._start_over_backoff_ms
        if is_settled:
            self._start_over_backoff_ms = FIRST_BACKOFF_MS
        self._start_over_at_ms = now_ms + self._start_over_backoff_ms
        self._start_over_backoff_ms = min(self._start_over_backoff_ms * 2, MAX_BACKOFF_MS)
