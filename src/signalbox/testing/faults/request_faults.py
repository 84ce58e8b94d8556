"""Faults of single requests: which API (by its name in Kafka, as "Produce"), which of its requests, which client.

Requests to the node (`node`, or every broker if it is None) are counted from 1 when the fault is applied, over all
connections; the fault has the requests `first` to `first + times - 1`, all from `first` on if `times` is None. With
`client_id` only this client's requests are counted. These faults read requests, so they need a listener without TLS.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error
from signalbox.testing.faults.fault import Undo, rules_of
from signalbox.testing.switchboard import Switchboard
from signalbox.testing.wire.request_rule import RequestRule, RuleAction

_KEYS = {row.name: ApiKey(key) for key, row in API_TABLE.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _RequestFault:
    api: str
    node: int | None = None
    first: int = 1
    times: int | None = 1
    client_id: str | None = None
    action: ClassVar[RuleAction]

    def __post_init__(self) -> None:
        self.rule()

    def claims(self) -> frozenset[str]:
        return frozenset()

    def rule(self) -> RequestRule:
        """A rule that has counted nothing. ValueError for an API or error that does not exist, or a number below 1."""
        if self.api not in _KEYS:
            raise ValueError(f"there is no API {self.api!r}; names are those of Kafka, as Produce or FindCoordinator")
        if self.first < 1 or (self.times is not None and self.times < 1):
            raise ValueError(f"requests are counted from 1: first={self.first}, times={self.times}")
        return RequestRule(
            self.action,
            _KEYS[self.api],
            first=self.first,
            times=self.times,
            client_id=self.client_id,
        )

    async def apply(self, board: Switchboard) -> Undo:
        rule, lines = self.rule(), rules_of(board, self.node)
        for rules in lines:
            rules.rules.append(rule)

        async def undo() -> None:
            for rules in lines:
                rules.rules.remove(rule)

        return undo


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerWithError(_RequestFault):
    """The client gets the error (its name, as "NOT_LEADER_OR_FOLLOWER") for every entry of the request, in the form
    that the API has for it; the broker does not get the request."""

    error: str
    action: ClassVar[RuleAction] = RuleAction.ERROR

    def rule(self) -> RequestRule:
        rule = _RequestFault.rule(self)
        if self.error not in Error.__members__:
            raise ValueError(f"there is no error {self.error!r}; names are those of Kafka, as REBOOTSTRAP_REQUIRED")
        rule.error = Error[self.error]
        return rule


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayResponse(_RequestFault):
    """The broker handles the request at once; its response, and those behind it, arrive `delay_ms` later."""

    delay_ms: float
    action: ClassVar[RuleAction] = RuleAction.DELAY

    def rule(self) -> RequestRule:
        rule = _RequestFault.rule(self)
        rule.delay_ms = self.delay_ms
        return rule


@dataclass(frozen=True, slots=True, kw_only=True)
class StallResponse(_RequestFault):
    """The broker handles the request; the connection stays open, and neither its response nor a later one arrives."""

    action: ClassVar[RuleAction] = RuleAction.STALL


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRequest(_RequestFault):
    """The broker does not get the request; the connection stays open, and no later response arrives."""

    action: ClassVar[RuleAction] = RuleAction.DROP


@dataclass(frozen=True, slots=True, kw_only=True)
class CutBeforeRequest(_RequestFault):
    """The connection is cut, and the broker does not get the request."""

    action: ClassVar[RuleAction] = RuleAction.CUT_BEFORE


@dataclass(frozen=True, slots=True, kw_only=True)
class CutAfterRequest(_RequestFault):
    """The broker handles the request, and the connection is cut in place of its response: the client cannot know. Shows
    whether a producer stores a record twice."""

    action: ClassVar[RuleAction] = RuleAction.CUT_AFTER
