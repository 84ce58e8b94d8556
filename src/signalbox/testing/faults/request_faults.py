"""Faults of single requests: which API (by its name in Kafka, as "Produce"), which of its requests, which client.

Requests to the node (`node`, or every broker if it is None) are counted from 1 when the fault is applied, over all
connections; the fault has the requests `first` to `first + times - 1`, all from `first` on if `times` is None. With
`client_id` only this client's requests are counted, with `topic` only those that name the topic or whose fetch session
has it, with `listener` those of one listener. With TLS open connections are cut when the fault is applied and when it
is taken back: in between clients have their TLS with the line, which has the brokers' certificate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from signalbox.protocol.error_table import Error
from signalbox.testing.faults.fault import Undo, key_of, lines_with, readers_of
from signalbox.testing.faults.field_checks import MAX_INT32, check_milliseconds, check_number
from signalbox.testing.faults.kit_admin import note_topic_id
from signalbox.testing.wire.request_rule import RequestRule, RuleAction

if TYPE_CHECKING:
    from signalbox.testing.switchboard import Switchboard


@dataclass(frozen=True, slots=True, kw_only=True)
class _RequestFault:
    api: str
    node: int | None = None
    first: int = 1
    times: int | None = 1
    client_id: str | None = None
    topic: str | None = None
    listener: str | None = None
    action: ClassVar[RuleAction]

    def __post_init__(self) -> None:
        self.rule()

    def claims(self) -> frozenset[str]:
        return frozenset()

    def rule(self) -> RequestRule:
        """A rule that has counted nothing. ValueError for an API or error that does not exist, or a number below 1."""
        from signalbox.testing.wire.topic_entries import has_topics

        api = key_of(self.api)
        if self.first < 1 or (self.times is not None and self.times < 1):
            raise ValueError(f"requests are counted from 1: first={self.first}, times={self.times}")
        if self.topic is not None and not has_topics(api):
            raise ValueError(f"{self.api} requests have no topics: leave out topic={self.topic}")
        return RequestRule(
            self.action,
            api,
            first=self.first,
            times=self.times,
            client_id=self.client_id,
            topic=self.topic,
        )

    async def apply(self, board: Switchboard) -> Undo:
        if self.topic is not None:
            await note_topic_id(board, self.topic, lines_with(board, self.node, self.listener))
        rule, readers = self.rule(), readers_of(board, self.node, self.listener)
        for rules in readers.rules:
            rules.rules.append(rule)

        async def undo() -> None:
            for rules in readers.rules:
                rules.rules.remove(rule)
            readers.release()

        return undo


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerWithError(_RequestFault):
    """The client gets the error (its name, as "NOT_LEADER_OR_FOLLOWER") for every entry of the request, in the form
    that the API has for it, after `delay_ms`; the broker does not get the request. With `topic` its entries get the
    error, and the broker gets the others."""

    error: str
    delay_ms: float = 0.0
    action: ClassVar[RuleAction] = RuleAction.ERROR

    def rule(self) -> RequestRule:
        rule = _RequestFault.rule(self)
        if self.error not in Error.__members__:
            raise ValueError(f"there is no error {self.error!r}; names are those of Kafka, as REBOOTSTRAP_REQUIRED")
        check_milliseconds("delay_ms", self.delay_ms)
        rule.error, rule.delay_ms = Error[self.error], self.delay_ms
        return rule


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayResponse(_RequestFault):
    """The broker handles the request at once; its response, and those behind it, arrive `delay_ms` later."""

    delay_ms: float
    action: ClassVar[RuleAction] = RuleAction.DELAY

    def rule(self) -> RequestRule:
        rule = _RequestFault.rule(self)
        check_milliseconds("delay_ms", self.delay_ms)
        rule.delay_ms = self.delay_ms
        return rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttle(_RequestFault):
    """The broker handles the request; its response says that the client is to wait `throttle_ms` (a quota is used up).
    Unlike a broker, the line reads the client's next request at once: it shows whether the client waits."""

    throttle_ms: int
    action: ClassVar[RuleAction] = RuleAction.THROTTLE

    def rule(self) -> RequestRule:
        from signalbox.testing.wire.response_edits import has_throttle_time  # messages, which `drill -h` does not need

        rule = _RequestFault.rule(self)
        if not has_throttle_time(rule.api):
            raise ValueError(f"{self.api} responses have no throttle time")
        check_number("throttle_ms", self.throttle_ms, 0, MAX_INT32)
        rule.throttle_ms = self.throttle_ms
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
