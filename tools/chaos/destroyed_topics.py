"""Topics all of whose copies were destroyed: which records are missing, and which losses a broker's log names.

A missing record counts as lost and logged only if it was acknowledged before every copy of its partition was destroyed
and some broker's log names topic, partition and offset of the loss. Everything else is checked as in any topic. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from signalbox.common.ids import TopicPartition
from tools.chaos.ledger import Ledger, RecordId
from tools.chaos.record_check import Places, RecordCheck, check_records

TOPIC_PREFIX = "copies-destroyed-"


@dataclass
class DestroyedTopic:
    """`before`: the records acknowledged before all copies of all partitions were destroyed, empty until then. `found`:
    the records read at the end of the run."""

    name: str
    ledger: Ledger = field(default_factory=Ledger)
    before: frozenset[RecordId] = frozenset()
    found: Places = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoggedLoss:
    """Offsets that a broker logged as lost; `last` is None if the end is not known."""

    topic_partition: TopicPartition
    first: int
    last: int | None

    def names(self, topic_partition: TopicPartition, offset: int) -> bool:
        """True if it includes this offset."""
        if topic_partition != self.topic_partition or offset < self.first:
            return False
        return self.last is None or offset <= self.last


@dataclass(frozen=True, slots=True)
class DestroyedCheck:
    """The result for all such topics: violations, and the number of records that are lost and logged."""

    lost_and_logged: int
    checks: tuple[RecordCheck, ...]
    examples: tuple[str, ...]

    @property
    def lost(self) -> int:
        return sum(check.lost for check in self.checks)


def check_destroyed(topics: Iterable[DestroyedTopic], logged: Sequence[LoggedLoss]) -> DestroyedCheck:
    """`logged`: the losses from the logs of all brokers."""
    lost_and_logged, checks, examples = 0, [], []
    for topic in topics:
        accepted = _lost_and_logged(topic, logged)
        others = {record: place for record, place in topic.ledger.acknowledged.items() if record not in accepted}
        seen = {(partition, offset): record for partition, rows in topic.found.items() for offset, record in rows}
        check = check_records(others, topic.found, seen)
        checks.append(check)
        examples += [f"{topic.name}: {example}" for example in check.examples]
        lost_and_logged += len(accepted)
    return DestroyedCheck(lost_and_logged, tuple(checks), tuple(examples))


def _lost_and_logged(topic: DestroyedTopic, logged: Sequence[LoggedLoss]) -> frozenset[RecordId]:
    present = {record for rows in topic.found.values() for _, record in rows}
    missing = topic.before - present
    return frozenset(
        record
        for record in missing
        for partition, offset in [topic.ledger.acknowledged[record]]
        if any(loss.names(TopicPartition(topic.name, partition), offset) for loss in logged)
    )
