"""Injects planned faults into a cluster, one at a time, and waits until the cluster is healthy again.

An *act* applies one kind of fault to a broker (0 for none) for so many seconds and reverts it; faults of the network
and the store are applied by the acts of `network_faults` and `store_faults.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from signalbox.testing.process_cluster import ClusterFailed, ProcessCluster
from tools.chaos.faults.network import Network
from tools.chaos.plan import NEED_ALL_IN_SYNC, Fault, Kind
from tools.chaos.state_reader import StateReader

_POLL_INTERVAL_S = 0.05

Act = Callable[[int, float], bool]
"""Applies a fault to this broker for this number of seconds; returns whether its peers killed the broker meanwhile."""


class ClusterUnhealthy(RuntimeError):
    """The cluster did not recover from a fault."""


@dataclass(slots=True)
class InjectedFault:
    """The fault, its time (seconds of the run), and how long the cluster took to be healthy again."""

    kind: str
    broker: int  # 0: the fault hit the store
    was_controller: bool
    led: int  # number of the topic's partitions that it led
    at_s: float
    hold_s: float
    is_hasty: bool  # the next fault began before this broker was in sync
    back_s: float = 0.0  # from its end (restart, SIGCONT) until every replica was in sync again
    killed_by_peers: bool = False  # stopped inside a transaction, as the store's rules allow
    silences_s: tuple[float, ...] = ()  # per partition, longest first: the longest time without an acknowledgement

    def as_json(self) -> dict[str, Any]:
        """For the report."""
        return {
            key: round(value, 3) if isinstance(value, float) else value
            for key, value in asdict(self).items()
            if key != "silences_s"
        } | {"longest_silence_s": round(self.silences_s[0], 3) if self.silences_s else 0.0}

    def line(self, acknowledged: int) -> str:
        """The line for the terminal; `acknowledged`: the number of records until now."""
        which = f"broker {self.broker}{' (controller)' if self.was_controller else ''}, leader of {self.led}"
        if not self.broker:
            which = "(all brokers)"
        silences = " ".join(f"{silence:.2f}" for silence in self.silences_s)
        ended = ", ended by its peers" if self.killed_by_peers else ""
        back = "back" if self.is_hasty else "healthy"
        return (
            f"{self.at_s:6.1f} s  {self.kind} {which:<34} for {self.hold_s:4.1f} s{ended}; {back} after "
            f"{self.back_s:4.1f} s; silence by partition {silences}; {acknowledged:,} acknowledged"
        )


class FaultInjector:
    """`started_s` is the monotonic time at which the run began."""

    def __init__(
        self,
        cluster: ProcessCluster,
        state: StateReader,
        topic: str,
        started_s: float,
        acts: Mapping[Kind, Act] | None = None,
        recovery_timeout_s: float = 45.0,
    ) -> None:
        self._cluster = cluster
        self._state = state
        self._topic = topic
        self._started_s = started_s
        self._recovery_timeout_s = recovery_timeout_s
        own: dict[Kind, Act] = {Kind.KILL: self._kill, Kind.PAUSE: partial(paused, cluster)}
        self._acts = own | dict(acts or {})

    def inject(self, fault: Fault) -> InjectedFault:
        """Applies the fault, reverts it, waits for the cluster. ClusterUnhealthy, ClusterFailed."""
        if fault.kind in NEED_ALL_IN_SYNC:
            self.wait_until_healthy()
        controller_id = self._state.controller_id()
        broker_id = fault.choose(list(self._cluster.brokers), controller_id)
        done = InjectedFault(
            kind=fault.kind.value,
            broker=broker_id,
            was_controller=broker_id == controller_id,
            led=list(self._state.leaders(self._topic).values()).count(broker_id),
            at_s=time.monotonic() - self._started_s,
            hold_s=fault.hold_s,
            is_hasty=fault.is_hasty,
        )
        done.killed_by_peers = self._acts[fault.kind](broker_id, fault.hold_s)
        ended_s = time.monotonic()
        if broker_id and not self._cluster.brokers[broker_id].running:
            self._cluster.start_broker(broker_id)
        if not fault.is_hasty:
            self.wait_until_healthy()
        done.back_s = time.monotonic() - ended_s
        return done

    def wait_until_healthy(self) -> None:
        """Waits until all brokers are registered and all replicas in sync. ClusterUnhealthy names what is missing."""
        deadline = time.monotonic() + self._recovery_timeout_s
        while missing := self._state.what_is_missing(len(self._cluster.brokers)):
            if time.monotonic() > deadline:
                raise ClusterUnhealthy(f"not healthy after {self._recovery_timeout_s:.0f} s: {missing}")
            time.sleep(_POLL_INTERVAL_S)

    def _kill(self, broker_id: int, hold_s: float) -> bool:
        self._cluster.kill(broker_id)
        time.sleep(hold_s)
        return False


def paused(cluster: ProcessCluster, broker_id: int, hold_s: float) -> bool:
    """SIGSTOP for `hold_s`. True if its peers killed it, as they may if it holds the store's lock."""
    cluster.pause(broker_id)
    time.sleep(hold_s)
    try:
        cluster.resume(broker_id)
    except ClusterFailed:
        return True
    return False


def network_faults(network: Network, cluster: ProcessCluster) -> Mapping[Kind, Act]:
    """Faults of the lines that lead to a broker."""

    def act(cut: Callable[[int], None]) -> Act:
        def cut_for(broker_id: int, hold_s: float) -> bool:
            cut(broker_id)
            time.sleep(hold_s)
            network.heal(broker_id)
            return False

        return cut_for

    def kill(broker_id: int) -> None:
        cluster.kill(broker_id)
        network.refuse_connections(broker_id)  # as the kernel does at the ports of a dead process

    return {
        Kind.KILL: act(kill),
        Kind.CUT_OFF: act(network.refuse_connections),
        Kind.STALL: act(network.stall),
        Kind.MUTE: act(network.mute),
    }
