"""Compares every changed entity with the store and with each broker's description of it. Pure.

The store must hold a state that the entity's history allows, and every broker must describe what the store holds: then
no acknowledged change is lost, no change is made in part, and no broker has outdated metadata.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tools.chaos.changes.model import NOT_THERE, History, State, described

States = Mapping[str, State]
_LAST_EVENTS = 6


@dataclass(frozen=True, slots=True)
class ChangeCheck:
    """The result for one kind. `lost`: entities whose state in the store no history allows; `unlike`: brokers'
    descriptions that differ from the store; `contradicted`: entities with a false response; `set_back`: entities from
    before the store went back, which are not compared."""

    kind: str
    entities: int
    acknowledged: int
    rejected: int
    unanswered: int
    lost: int
    unlike: int
    contradicted: int
    set_back: int
    examples: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not (self.lost or self.unlike or self.contradicted)


def check_changes(
    kind: str,
    histories: Iterable[History],
    stored: States,
    described_by: Mapping[int, States],
    set_back: Iterable[History] = (),
) -> ChangeCheck:
    """`stored` and `described_by` (by broker) hold the entities by name at the end of the run; those of `set_back` may
    be among them or not, but their responses must have been true."""
    counts: Counter[str] = Counter()
    examples: list[str] = []
    for history in set_back:
        counts.update(acknowledged=history.acknowledged, rejected=history.rejected, unanswered=history.unanswered)
        counts.update(set_back=1, contradicted=bool(history.contradictions))
        examples += [f"{kind} {each}; {_past(history)}" for each in history.contradictions[:1]]
    for history in histories:
        counts.update(
            entities=1, acknowledged=history.acknowledged, rejected=history.rejected, unanswered=history.unanswered
        )
        if history.contradictions:
            counts["contradicted"] += 1
            examples.append(f"{kind} {history.contradictions[0]}; {_past(history)}")
            continue
        state = stored.get(history.entity, NOT_THERE)
        if state not in history.possible():
            counts["lost"] += 1
            allowed = " or ".join(sorted(described(each) for each in history.possible()))
            examples.append(
                f"{kind} {history.entity}: the store has {described(state)}, expected {allowed}; {_past(history)}"
            )
        for broker_id, states in sorted(described_by.items()):
            described_state = states.get(history.entity, NOT_THERE)
            if described_state != state:
                counts["unlike"] += 1
                examples.append(
                    f"{kind} {history.entity}: broker {broker_id} says {described(described_state)}, the store has "
                    f"{described(state)}; {_past(history)}"
                )
    return ChangeCheck(
        kind, counts["entities"], counts["acknowledged"], counts["rejected"], counts["unanswered"], counts["lost"],
        counts["unlike"], counts["contradicted"], counts["set_back"], tuple(examples),
    )  # fmt: skip


def _past(history: History) -> str:
    return "its last changes: " + ", ".join(history.events[-_LAST_EVENTS:])
