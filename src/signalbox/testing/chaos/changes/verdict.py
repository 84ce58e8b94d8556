"""Every entity that was changed, against the store and against what each broker says of it. Pure.

The store must hold a state that the entity's history allows, and every broker must say what the store holds: then no
acknowledged change is lost, none is made by halves, and no broker lives in the past.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from signalbox.testing.chaos.changes.model import NOT_THERE, History, State, described

States = Mapping[str, State]
_LAST_TOLD = 6


@dataclass(frozen=True, slots=True)
class ChangeVerdict:
    """Of one kind. `lost`: entities whose state in the store no history allows; `unlike`: brokers' answers that are
    not what the store holds; `contradicted`: entities of which an answer was false."""

    kind: str
    entities: int
    acknowledged: int
    refused: int
    unanswered: int
    lost: int
    unlike: int
    contradicted: int
    examples: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not (self.lost or self.unlike or self.contradicted)


def judge_changes(
    kind: str, histories: Iterable[History], stored: States, described_by: Mapping[int, States]
) -> ChangeVerdict:
    """`stored` and `described_by` (by broker) hold the entities by name as they are at the end."""
    counts: Counter[str] = Counter()
    examples: list[str] = []
    for history in histories:
        counts.update(
            entities=1, acknowledged=history.acknowledged, refused=history.refused, unanswered=history.unanswered
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
            said = states.get(history.entity, NOT_THERE)
            if said != state:
                counts["unlike"] += 1
                examples.append(
                    f"{kind} {history.entity}: broker {broker_id} says {described(said)}, the store has "
                    f"{described(state)}; {_past(history)}"
                )
    return ChangeVerdict(
        kind, counts["entities"], counts["acknowledged"], counts["refused"], counts["unanswered"], counts["lost"],
        counts["unlike"], counts["contradicted"], tuple(examples),
    )  # fmt: skip


def _past(history: History) -> str:
    return "its last changes: " + ", ".join(history.told[-_LAST_TOLD:])
