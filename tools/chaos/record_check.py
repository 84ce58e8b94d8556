"""Compares the records read with the records acknowledged: none lost, none duplicated, none out of order. Pure.

Within a partition the records of one producer must have the order in which it sent them. Each record that a group saw
must be in the log, at the same offset: a consumer must not read a record that can still be lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tools.chaos.ledger import RecordId

Places = Mapping[int, Sequence[tuple[int, RecordId]]]  # partition → offset and id, in the order of the log


@dataclass(frozen=True, slots=True)
class RecordCheck:
    """The counts, and an example for each count that is not 0."""

    lost: int
    duplicated: int
    reordered: int
    misplaced: int  # acknowledged at one offset, read at another
    unseen: int  # in the log, but the group never saw it
    phantoms: int  # seen by the group, not in the log at that offset
    examples: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not any((self.lost, self.duplicated, self.reordered, self.misplaced, self.unseen, self.phantoms))


def check_records(
    acknowledged: Mapping[RecordId, tuple[int, int]], found: Places, seen: Mapping[tuple[int, int], RecordId]
) -> RecordCheck:
    """`acknowledged` and `seen` as the clients recorded them, `found` as read at the end."""
    place_of = {record: (partition, offset) for partition, rows in found.items() for offset, record in rows}
    counts = Counter(record for rows in found.values() for _, record in rows)
    lost = [record for record in acknowledged if record not in counts]
    duplicated = [record for record, count in counts.items() if count > 1]
    reordered = [each for partition, rows in found.items() for each in _out_of_order(partition, rows)]
    misplaced = [
        f"{record} acknowledged at {partition}/{offset}, found at {place_of[record]}"
        for record, (partition, offset) in acknowledged.items()
        if offset >= 0 and record in place_of and counts[record] == 1 and place_of[record] != (partition, offset)
    ]
    unseen = [place for place in place_of.values() if place not in seen]
    at = {(partition, offset): record for partition, rows in found.items() for offset, record in rows}
    phantoms = [f"{place} held {record} for the group" for place, record in seen.items() if at.get(place) != record]
    rows: tuple[tuple[str, Sequence[object]], ...] = (
        ("lost", [f"{record} acknowledged at {acknowledged[record]}" for record in lost]),
        ("duplicated", duplicated),
        ("reordered", reordered),
        ("misplaced", misplaced),
        ("unseen", unseen),
        ("phantom", phantoms),
    )
    examples = tuple(f"{what}: {example}" for what, cases in rows for example in cases[:3])
    return RecordCheck(len(lost), len(duplicated), len(reordered), len(misplaced), len(unseen), len(phantoms), examples)


def _out_of_order(partition: int, rows: Sequence[tuple[int, RecordId]]) -> list[str]:
    latest: dict[int, int] = {}
    wrong = []
    for offset, record in rows:
        if record.number < latest.get(record.producer, -1):
            wrong.append(f"{record} at {partition}/{offset} stands behind number {latest[record.producer]}")
        latest[record.producer] = max(record.number, latest.get(record.producer, -1))
    return wrong
