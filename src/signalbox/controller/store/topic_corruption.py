"""Corrupt entries of a topic in the store, and the errors and log messages about them.

Another program, or an incomplete restore, may leave an entry that is not a valid assignment or partition state.
Kafka's controller fails on it, and the cluster with it; Signalbox works with everything else. The topic or partition is
quarantined: no leader is elected, no entry is written or deleted, no replica is stopped. Brokers keep the last state
that they got.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from signalbox.protocol.error_table import Error, KafkaError

REMEDY = (
    "Write the previous content of the entry, and the controller reads it at once"
    " (docs/metadata-store.md, Corrupt metadata entries)"
)

_NAMED = 3  # of many problems: the log and an error message stay readable
_LONGEST = 300  # characters of one problem: it may contain a part of the entry


@dataclass(frozen=True, slots=True)
class TopicCorruption:
    """`problems`: what is wrong, by path. `partitions` are those without a readable state; None: the assignment
    cannot be read (or the topic is under deletion), so the topic is quarantined as a whole."""

    problems: Mapping[str, str]
    partitions: frozenset[int] | None = None

    @property
    def is_whole(self) -> bool:
        return self.partitions is None

    def covers(self, partition: int) -> bool:
        """Whether the partition is quarantined."""
        return self.partitions is None or partition in self.partitions

    def __str__(self) -> str:
        named = [problem[:_LONGEST] for problem in list(self.problems.values())[:_NAMED]]
        more = len(self.problems) - len(named)
        return "; ".join([*named, *([f"and {more} more"] if more else [])])


def describe(topic: str, corruption: TopicCorruption) -> str:
    """One log line: the topic, the entries, what is wrong, what to do."""
    if corruption.partitions is None:
        effect = f"topic {topic} is quarantined, its entries and logs are not changed and its name stays taken"
    else:
        effect = f"partitions {sorted(corruption.partitions)} of topic {topic} are quarantined and get no new leader"
    return f"{effect}: {corruption}. {REMEDY}"


def rejection(topic: str, corruption: TopicCorruption) -> KafkaError:
    """The error for a request that would change a quarantined topic. Clients do not retry it: an operator must act."""
    return KafkaError(
        Error.UNKNOWN_SERVER_ERROR,
        f"The metadata of topic '{topic}' in the metadata store cannot be read: {corruption}. {REMEDY}",
    )
