"""One entity's history of changes, and the states it may be in: the ledger of metadata changes. Pure.

Changes of an entity are requested one after the other. A response says what a change did. A change without a response
may have been made completely, or not at all, or may still be made: a stopped broker forwards the requests that it has
received when it resumes. So a history keeps every *world* that agrees with all responses: a state, and the unanswered
changes that have not been made in it. If no world is left, a response was false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from signalbox.protocol.error_table import Error

State = frozenset[tuple[str, str]]
"""The state of an entity as facts (name, value); empty if the entity does not exist."""

NOT_THERE: State = frozenset()
GONE: State = frozenset({("deleted", "")})
"""The entity was deleted, but its deletion may not be complete yet."""

MOST_UNANSWERED = 3  # after so many an entity is not changed any more: each one doubles the worlds

NO_CHANGE = frozenset(
    {Error.INVALID_REPLICATION_FACTOR, Error.THROTTLING_QUOTA_EXCEEDED, Error.CLUSTER_AUTHORIZATION_FAILED}
)
"""Errors that depend on the cluster's condition; the entity's state does not change."""

UNCERTAIN = frozenset(
    {
        Error.NOT_CONTROLLER,
        Error.REQUEST_TIMED_OUT,
        Error.UNKNOWN_SERVER_ERROR,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.NETWORK_EXCEPTION,
    }
)
"""Errors that leave open whether the change was made."""


@dataclass(frozen=True, slots=True)
class Change:
    """`request` is what to send; `transitions`: for a state, the states it may lead to, and the response with each.

    `names_entity`: without the response no further change of the entity can be requested (a token's id is in it)."""

    text: str
    request: Any
    transitions: Callable[[State], Iterable[tuple[State, Error]]]
    names_entity: bool = False


_World = tuple[State, frozenset[int]]


@dataclass
class History:
    """The history of one entity. `contradictions` are responses that no world allows, in words."""

    entity: str
    acknowledged: int = 0
    rejected: int = 0
    contradictions: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    _is_nameless: bool = False
    _unanswered: list[Change] = field(default_factory=list)
    _worlds: set[_World] = field(default_factory=lambda: {(NOT_THERE, frozenset())})

    @property
    def unanswered(self) -> int:
        return len(self._unanswered)

    @property
    def is_closed(self) -> bool:
        """True if no further change of it should be requested."""
        return self.unanswered >= MOST_UNANSWERED or self._is_nameless or bool(self.contradictions)

    def possible(self) -> set[State]:
        """Every state that it may be in now."""
        return {NOT_THERE if state == GONE else state for state, _ in self._grown()}

    def answer(self, change: Change, error: Error) -> None:
        """Records a change and its response."""
        if error in UNCERTAIN:
            self.lose(change, error.name)
            return
        self.events.append(f"{change.text}: {error.name}")
        self.acknowledged += error == Error.NONE
        self.rejected += error != Error.NONE
        if error in NO_CHANGE:
            return
        before = self._grown()
        after = {
            (state, left) for world, left in before for state, answer in change.transitions(world) if answer == error
        }
        if not after:
            states = "; ".join(sorted(described(state) for state, _ in before))
            self.contradictions.append(f"{self.entity}: {change.text} was answered {error.name}, but it was {states}")
            return
        self._worlds = after

    def lose(self, change: Change, reason: str) -> None:
        """Records a change without a response: whether it was, or will be, made is unknown."""
        self.events.append(f"{change.text}: {reason}")
        self._is_nameless = self._is_nameless or change.names_entity
        number = len(self._unanswered)
        self._unanswered.append(change)
        self._worlds = {(state, left | {number}) for state, left in self._worlds}

    def _grown(self) -> set[_World]:
        """The worlds, with any of the unanswered changes made in any order."""
        grown, fresh = set(self._worlds), list(self._worlds)
        while fresh:
            state, left = fresh.pop()
            for number in left:
                for after, _ in self._unanswered[number].transitions(state):
                    world = (after, left - {number})
                    if world not in grown:
                        grown.add(world)
                        fresh.append(world)
        return grown


def described(state: State) -> str:
    """Text for reports: `partitions=3 retention.ms=1000`."""
    return " ".join(f"{name}={value}" for name, value in sorted(state)) or "not there"


def with_facts(state: State, facts: dict[str, str | None]) -> State:
    """The state with these facts set, or (None) without them."""
    kept = {(name, value) for name, value in state if name not in facts}
    return frozenset(kept | {(name, value) for name, value in facts.items() if value is not None})


def fact(state: State, name: str) -> str | None:
    """The value of one fact."""
    return dict(state).get(name)
