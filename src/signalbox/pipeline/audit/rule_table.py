"""What is wrong in an audit trail: the conditions that the alerts (single events) and the report (roll-ups) share.

Both sides read a fact of this table: who counts as a broker, which listener is public, how many misroutes are a storm,
which events are rejections, and on which plane one is an error. How the facts are grouped and worded is theirs.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from enum import StrEnum

ANONYMOUS = "User:ANONYMOUS"
MISROUTE_STORM = 100
"""Misrouted requests of one pair of nodes from which on they are a storm."""
SERVED_KINDS = ("rollup", "forwarded")
"""Events of requests that a listener took from its own client."""
REJECTED_KINDS = ("rejected", "denied", "policy")
MISROUTED_KIND = "misrouted"
CONTROL_PLANE = "control"


class Rule(StrEnum):
    """The name of a rule, as alerts have it."""

    BROKER_ON_A_PUBLIC_LISTENER = "broker_principal_on_public_listener"
    MISROUTE_STORM = "misroute_storm"
    REJECTED_CONTROL_REQUEST = "rejected_control_request"


@dataclass(frozen=True, slots=True)
class RuleText:
    """`title`: how the report names the rule. `kinds`: the kinds of events that it needs; empty: those of requests that
    a listener served."""

    title: str
    kinds: tuple[str, ...]


RULE_TABLE = {
    Rule.BROKER_ON_A_PUBLIC_LISTENER: RuleText("broker principal on a public listener", ()),
    Rule.MISROUTE_STORM: RuleText("misrouted requests", (MISROUTED_KIND,)),
    Rule.REJECTED_CONTROL_REQUEST: RuleText("rejected requests", REJECTED_KINDS),
}


def names_someone(principal: str) -> bool:
    """Whether it tells one client from another: brokers that do not log in are not distinguished from clients."""
    return principal not in ("", ANONYMOUS)


def is_public(users: Set[str], brokers: Set[str]) -> bool:
    """Whether a listener with these `users` is one for clients: one of them is no broker."""
    return bool(users - brokers)


def poses_as_broker(principal: str, brokers: Set[str], *, on_public_listener: bool) -> bool:
    """Whether a request that was sent directly has a principal with which brokers log in, where clients connect."""
    return on_public_listener and principal in brokers


def is_storm(requests: int, limit: int = MISROUTE_STORM) -> bool:
    """Whether so many misrouted requests of one pair of nodes are a storm."""
    return requests >= limit


def is_control_rejection(kind: str, plane: str) -> bool:
    """Whether the control plane rejected a request or a connection."""
    return kind in REJECTED_KINDS and plane == CONTROL_PLANE
