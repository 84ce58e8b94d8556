"""What of a topic in the store cannot be read, and what the controller says of it.

Another program, or a torn restore, may leave an entry that is no assignment or no partition state. Kafka's controller
fails on it and with it the cluster; ours works with everything else. Whatever the damage covers is left as it is: no
leader is decided, no entry written or deleted, no replica stopped. Brokers go on with what they were told last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from signalbox.protocol.error_table import Error, KafkaError

REMEDY = "Write what it held, and it is taken in at once (docs/metadata-store.md, Damaged entries)"

_NAMED = 3  # of many problems; the log and an answer stay readable
_LONGEST = 300  # characters of one: a payload may be part of it


@dataclass(frozen=True, slots=True)
class TopicDamage:
    """`problems` say what is wrong, by path. `partitions` are those without a readable state; None: the assignment
    cannot be read (or the topic is on its way out), so that all of the topic is set aside."""

    problems: Mapping[str, str]
    partitions: frozenset[int] | None = None

    @property
    def is_whole(self) -> bool:
        return self.partitions is None

    def covers(self, partition: int) -> bool:
        """Whether the partition is left as it is."""
        return self.partitions is None or partition in self.partitions

    def __str__(self) -> str:
        named = [problem[:_LONGEST] for problem in list(self.problems.values())[:_NAMED]]
        more = len(self.problems) - len(named)
        return "; ".join([*named, *([f"and {more} more"] if more else [])])


def told(topic: str, damage: TopicDamage) -> str:
    """One line of log: the topic, the entries, what is wrong, what to do."""
    if damage.partitions is None:
        what = f"topic {topic} is set aside, its entries and logs are left as they are and its name stays taken"
    else:
        what = f"partitions {sorted(damage.partitions)} of topic {topic} are left as they are and get no new leader"
    return f"{what}: {damage}. {REMEDY}"


def refusal(topic: str, damage: TopicDamage) -> KafkaError:
    """What whoever wants to change it is answered. Not an error that clients retry: only an operator can help."""
    return KafkaError(
        Error.UNKNOWN_SERVER_ERROR,
        f"What the metadata store holds of topic '{topic}' cannot be read: {damage}. {REMEDY}",
    )
