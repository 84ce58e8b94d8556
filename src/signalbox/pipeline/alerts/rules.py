"""The rules: which events of the audit trail become an alert. Pure decisions over grouped events, no Spark, no client.

An alert of the same rule about the same thing is not repeated for events less than `quiet_ms` away from it, so that a
storm of events is one alert a minute. An event that is earlier or later than that is another alert, in whatever order
the events come: a broker whose clock is ahead does not silence the others (`windows.py`). That is in memory: after a
restart of the run an alert may come again. What the events have shown before the restart is read from the table
(`recall`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field

from signalbox.pipeline.alerts.windows import CountWindow, QuietTimes
from signalbox.pipeline.audit.rule_table import (
    MISROUTE_STORM,
    MISROUTED_KIND,
    SERVED_KINDS,
    Rule,
    is_control_rejection,
    is_public,
    is_storm,
    names_someone,
    poses_as_broker,
)

ALERT_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class EventGroup:
    """Events of a batch that are equal in what the rules look at. `seq` is that of the first event, the times are the
    first and the last of the events. Misroutes are those of one pair of nodes within `windows.SLICE_MS`, of any client:
    broker and client are those of the first."""

    kind: str
    broker_id: int
    broker_epoch: int
    seq: int
    listener: str
    plane: str
    principal: str
    forwarding_principal: str
    client_id: str
    client_address: str
    api: str
    reason: str
    expected: str
    actual: str
    count: int
    first_ms: int
    last_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One record of the topic of alerts. `broker_id`, `broker_epoch` and `seq` name the first event that caused it."""

    rule: Rule
    text: str
    broker_id: int
    broker_epoch: int
    seq: int
    listener: str
    principal: str
    client_id: str
    client_address: str
    api: str
    count: int
    first_ms: int
    last_ms: int

    def encoded(self) -> tuple[bytes, bytes]:
        """Key and value of the record. The key is the same if the alert is written again after a crash."""
        key = f"{self.rule}:{self.broker_id}:{self.broker_epoch}:{self.seq}"
        return key.encode(), json.dumps({"version": ALERT_VERSION, **asdict(self)}).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSettings:
    """`broker_principals`: in addition to those that the events show; `public_listeners`: instead of those. `storm`:
    misrouted requests of one pair of nodes within `window_ms`. `quiet_ms`: before and after an alert."""

    broker_principals: frozenset[str] = frozenset()
    public_listeners: frozenset[str] = frozenset()
    storm: int = MISROUTE_STORM
    window_ms: int = 60_000
    quiet_ms: int = 60_000


@dataclass(slots=True)
class AlertRules:
    """The rules with what they have seen. Brokers are known by the principals with which they forward requests, public
    listeners by other principals that use them; without logins both are only those of the settings."""

    settings: RuleSettings = field(default_factory=RuleSettings)
    _brokers: set[str] = field(default_factory=set)
    _users: dict[str, set[str]] = field(default_factory=dict)
    _misroutes: dict[tuple[str, str], CountWindow] = field(default_factory=dict)
    _quiet: dict[tuple[str, ...], QuietTimes] = field(default_factory=dict)

    def copied(self) -> AlertRules:
        """The same rules with the same memory: what the copy sees is unknown to these."""
        return AlertRules(
            self.settings,
            set(self._brokers),
            {listener: set(users) for listener, users in self._users.items()},
            {pair: window.copied() for pair, window in self._misroutes.items()},
            {subject: times.copied() for subject, times in self._quiet.items()},
        )

    def alerts(self, groups: Iterable[EventGroup]) -> list[Alert]:
        """The alerts of the next events."""
        ordered = sorted(groups, key=lambda group: group.first_ms)
        for group in ordered:
            self._see(group)
        return [alert for group in ordered for alert in self._of(group)]

    def recall(self, brokers: Iterable[str], users: Iterable[tuple[str, str]], misroutes: Iterable[EventGroup]) -> None:
        """What an earlier run has seen: principals that forwarded requests, pairs of a listener and a principal that
        used it, and misroutes, the earliest first."""
        self._brokers.update(filter(names_someone, brokers))
        for listener, principal in users:
            if names_someone(principal):
                self._users.setdefault(listener, set()).add(principal)
        for group in misroutes:
            self._within_window(group)

    def _see(self, group: EventGroup) -> None:
        if names_someone(group.forwarding_principal):
            self._brokers.add(group.forwarding_principal)
        served = group.kind in SERVED_KINDS and not group.forwarding_principal
        if served and names_someone(group.principal):
            self._users.setdefault(group.listener, set()).add(group.principal)

    def _of(self, group: EventGroup) -> Iterator[Alert]:
        brokers = self._brokers | self.settings.broker_principals
        # A forwarded request is recorded with its own principal on the listener of the brokers.
        direct = not group.forwarding_principal
        public = self._is_public(group.listener, brokers)
        if direct and poses_as_broker(group.principal, brokers, on_public_listener=public):
            yield from self._once(
                Rule.BROKER_ON_A_PUBLIC_LISTENER,
                group,
                (group.principal, group.listener, group.client_address),
                f"{group.principal}, with which brokers log in, uses the public listener {group.listener} from"
                f" {group.client_address or 'an unknown address'}",
            )
        if group.kind == MISROUTED_KIND:
            count = self._within_window(group)
            if is_storm(count, self.settings.storm):
                text = f"{count:,} requests meant {group.expected} and reached {group.actual} within a minute"
                yield from self._once(Rule.MISROUTE_STORM, group, (group.expected, group.actual), text, count)
        if is_control_rejection(group.kind, group.plane):
            yield from self._once(
                Rule.REJECTED_CONTROL_REQUEST,
                group,
                (group.listener, group.principal, group.client_address, group.api),
                f"{group.api or 'a connection'} of {group.principal or group.client_address} was {group.kind} on the"
                f" control plane (listener {group.listener}): {group.reason}",
            )

    def _is_public(self, listener: str, brokers: set[str] | frozenset[str]) -> bool:
        if self.settings.public_listeners:
            return listener in self.settings.public_listeners
        return is_public(self._users.get(listener, set()), brokers)

    def _within_window(self, group: EventGroup) -> int:
        window = self._misroutes.setdefault((group.expected, group.actual), CountWindow())
        return window.add(group.first_ms, group.last_ms, group.count, self.settings.window_ms)

    def _once(
        self, rule: Rule, group: EventGroup, subject: tuple[str, ...], text: str, count: int | None = None
    ) -> Iterator[Alert]:
        quiet = self._quiet.setdefault((rule.value, *subject), QuietTimes())
        if quiet.is_quiet(group.last_ms, self.settings.quiet_ms):
            return
        quiet.note(group.last_ms)
        yield Alert(
            rule=rule,
            text=text,
            broker_id=group.broker_id,
            broker_epoch=group.broker_epoch,
            seq=group.seq,
            listener=group.listener,
            principal=group.principal,
            client_id=group.client_id,
            client_address=group.client_address,
            api=group.api,
            count=group.count if count is None else count,
            first_ms=group.first_ms,
            last_ms=group.last_ms,
        )
