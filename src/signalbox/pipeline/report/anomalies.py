"""What in the figures of an audit trail needs a look: one named rule each, over the rows of the roll-up tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from signalbox.pipeline.audit.rule_table import (
    ANONYMOUS,
    CONTROL_PLANE,
    RULE_TABLE,
    is_public,
    is_storm,
    poses_as_broker,
)
from signalbox.pipeline.audit.rule_table import Rule as Shared

Figures = Mapping[str, Any]

SLOW_US = 1_000_000
SLOW_FORWARD_US = 500_000
# These wait for records or for other members on purpose.
_WAITING_APIS = frozenset({"FETCH", "SHARE_FETCH", "JOIN_GROUP", "SYNC_GROUP", "CONSUMER_GROUP_HEARTBEAT"})


class Severity(StrEnum):
    """How bad it is."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One thing that should not be: the rule that found it, and a sentence."""

    rule: str
    severity: Severity
    text: str

    def as_json(self) -> dict[str, str]:
        """The same as plain JSON values."""
        return {**asdict(self), "severity": self.severity.value}


Rule = Callable[[Figures], Iterator[tuple[Severity, str]]]


def anomalies(figures: Figures) -> list[Anomaly]:
    """Every anomaly, errors first, in the order of the rules."""
    found = [Anomaly(name, severity, text) for name, rule in RULES.items() for severity, text in rule(figures)]
    return sorted(found, key=lambda anomaly: anomaly.severity != Severity.ERROR)


def _incomplete(figures: Figures) -> Iterator[tuple[Severity, str]]:
    for finding in figures["completeness"]["findings"]:
        yield Severity.ERROR, finding


def broker_principals(figures: Figures) -> frozenset[str]:
    """The principals with which brokers forward requests; empty where brokers do not log in."""
    principals = frozenset(row["forwarding_principal"] for row in figures["decided"]) - {""}
    return frozenset() if ANONYMOUS in principals else principals


def public_listeners(figures: Figures) -> frozenset[str]:
    """The listeners on which a principal that is no broker sends requests."""
    brokers = broker_principals(figures)
    return frozenset(row["listener"] for row in figures["requests"] if is_public({row["principal"]}, brokers))


def _broker_on_a_public_listener(figures: Figures) -> Iterator[tuple[Severity, str]]:
    brokers, public = broker_principals(figures), public_listeners(figures)
    for row in figures["requests"]:
        if poses_as_broker(row["principal"], brokers, on_public_listener=row["listener"] in public):
            yield (
                Severity.ERROR,
                f"{row['principal']}, with which brokers log in, sent {row['requests']:,} {row['api']} on the public"
                f" listener {row['listener']} of broker {row['broker_id']} as client {row['client_id'] or '(no id)'}",
            )


def _misrouted(figures: Figures) -> Iterator[tuple[Severity, str]]:
    for row in figures["misrouted"]:
        storm = is_storm(row["requests"])
        yield (
            Severity.ERROR if storm else Severity.WARNING,
            f"{row['requests']:,} requests of {row['clients']:,} clients meant {row['expected']} and reached"
            f" {row['actual']} on listener {row['listener']}{': a storm of misroutes' if storm else ''}",
        )


def _rejected(figures: Figures) -> Iterator[tuple[Severity, str]]:
    for row in figures["rejected"]:
        why = row["reason"] or row["error"]
        yield (
            Severity.ERROR if row["plane"] == CONTROL_PLANE else Severity.WARNING,
            f"{row['requests']:,} {row['api'] or 'connections'} of {row['principal'] or row['client_address']}"
            f" {row['kind']} on listener {row['listener']} of broker {row['broker_id']} ({row['plane']} plane): {why}",
        )


def _failed_forwards(figures: Figures) -> Iterator[tuple[Severity, str]]:
    for row in figures["forwarded"]:
        if row["errors"]:
            yield (
                Severity.WARNING,
                f"{row['errors']:,} of {row['requests']:,} {row['api']} that broker {row['broker_id']} forwarded to"
                f" node {row['target_node']} failed",
            )


def _slow(figures: Figures) -> Iterator[tuple[Severity, str]]:
    for row in figures["forwarded"]:
        if (row["p99_us"] or 0) >= SLOW_FORWARD_US:
            yield (
                Severity.WARNING,
                f"{row['api']} forwarded by broker {row['broker_id']} to node {row['target_node']} takes"
                f" {row['p99_us'] / 1000:,.0f} ms (p99)",
            )
    for row in figures["requests"]:
        if (row["max_us"] or 0) >= SLOW_US and row["api"] not in _WAITING_APIS:
            yield (
                Severity.WARNING,
                f"{row['api']} of client {row['client_id'] or '(no id)'} took up to {row['max_us'] / 1000:,.0f} ms on"
                f" broker {row['broker_id']}",
            )


def _addresses(figures: Figures) -> Iterator[tuple[Severity, str]]:
    for row in figures["kinds"]:
        if row["kind"] == "advertised_address":
            yield (
                Severity.WARNING,
                f"{row['events']:,} checks of advertised addresses had another result than before:"
                " `signalbox doctor` examines every address",
            )


RULES: Mapping[str, Rule] = {
    "incomplete audit trail": _incomplete,
    RULE_TABLE[Shared.BROKER_ON_A_PUBLIC_LISTENER].title: _broker_on_a_public_listener,
    RULE_TABLE[Shared.MISROUTE_STORM].title: _misrouted,
    RULE_TABLE[Shared.REJECTED_CONTROL_REQUEST].title: _rejected,
    "failed forwarded requests": _failed_forwards,
    "slow requests": _slow,
    "advertised addresses": _addresses,
}
