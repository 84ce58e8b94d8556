"""`/brokers/topics/<topic>`: the topic's id and the replicas of each partition. Version 3 is written, 1 and later read.

A running reassignment (KIP-455) shows in `adding` and `removing`; `replicas` then has targets and originals. `removed`
is not Kafka's, whose readers ignore the key: replicas that do not belong to the partition any more and whose deletion
is not confirmed yet. It is written only when there are such replicas.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.ids import ZERO_UUID, uuid_bytes, uuid_text
from signalbox.metadata.entries.json_text import BadEntry, decode_json, whole_number

Replicas = dict[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class ReplicaAssignment:
    """One partition's replicas. During a reassignment `replicas` has the targets first, then the other originals;
    `adding` are targets that are not originals, `removing` are originals that are not targets."""

    replicas: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def originals(self) -> tuple[int, ...]:
        return tuple(broker for broker in self.replicas if broker not in self.adding)

    @property
    def targets(self) -> tuple[int, ...]:
        return tuple(broker for broker in self.replicas if broker not in self.removing)

    @property
    def is_moving(self) -> bool:
        return bool(self.adding or self.removing)

    def towards(self, targets: Iterable[int]) -> ReplicaAssignment:
        """A reassignment of the same originals to `targets`; it replaces a running one."""
        wanted, originals = tuple(targets), self.originals
        return ReplicaAssignment(
            replicas=tuple(dict.fromkeys((*wanted, *originals))),
            adding=tuple(broker for broker in wanted if broker not in originals),
            removing=tuple(broker for broker in originals if broker not in wanted),
        )


@dataclass(frozen=True, slots=True)
class TopicAssignment:
    """Replicas by partition. `topic_id` is zero for topics older than topic ids."""

    topic_id: bytes
    replicas: Replicas
    adding: Replicas = field(default_factory=dict)
    removing: Replicas = field(default_factory=dict)
    removed: Replicas = field(default_factory=dict)

    def of(self, partition: int) -> ReplicaAssignment:
        """The assignment of one partition."""
        return ReplicaAssignment(
            self.replicas.get(partition, ()), self.adding.get(partition, ()), self.removing.get(partition, ())
        )

    def changed(self, partitions: Mapping[int, ReplicaAssignment]) -> TopicAssignment:
        """The same with other replicas. A broker that is not a replica any more is added to `removed`; one that is a
        replica again is taken out of it."""
        removed = dict(self.removed)
        for number, after in partitions.items():
            before = (*self.removed.get(number, ()), *self.replicas.get(number, ()))
            removed[number] = tuple(broker for broker in before if broker not in after.replicas)
        return replace(
            self,
            replicas={**self.replicas, **{number: after.replicas for number, after in partitions.items()}},
            adding=_filled({**self.adding, **{number: after.adding for number, after in partitions.items()}}),
            removing=_filled({**self.removing, **{number: after.removing for number, after in partitions.items()}}),
            removed=_filled(removed),
        )

    def without_removed(self, partitions: Iterable[int], broker_id: int) -> TopicAssignment:
        """The same after this broker has deleted its removed replicas of these partitions."""
        left = {number: self.removed.get(number, ()) for number in partitions}
        without = {
            number: tuple(broker for broker in brokers if broker != broker_id) for number, brokers in left.items()
        }
        return replace(self, removed=_filled({**self.removed, **without}))

    def encode(self) -> bytes:
        """The JSON payload, version 3. Yields."""
        # Without the JSON encoder: a topic may have thousands of partitions, and all values are numbers.
        fields = [
            '"version":3',
            f'"partitions":{_lists(self.replicas)}',
            f'"adding_replicas":{_lists(self.adding)}',
            f'"removing_replicas":{_lists(self.removing)}',
        ]
        if self.removed:
            fields.append(f'"removed_replicas":{_lists(self.removed)}')
        if self.topic_id != ZERO_UUID:
            fields.append(f'"topic_id":"{uuid_text(self.topic_id)}"')
        return f"{{{','.join(fields)}}}".encode()


def decode_topic_assignment(topic: str, data: bytes | None) -> TopicAssignment:
    """The assignment in a payload of any version; partitions may be in any order, a missing list is empty. BadEntry
    names the fault."""
    payload = decode_json(data, f"/brokers/topics/{topic}")
    try:
        topic_id = payload.get("topic_id")
        return TopicAssignment(
            topic_id=ZERO_UUID if topic_id is None else uuid_bytes(topic_id),
            replicas=dict(sorted(_tuples(payload["partitions"]).items())),
            adding=_filled(_tuples(payload.get("adding_replicas"))),
            removing=_filled(_tuples(payload.get("removing_replicas"))),
            removed=_filled(_tuples(payload.get("removed_replicas"))),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadEntry(f"/brokers/topics/{topic} is not an assignment: {error!r}") from error


def _lists(replicas: Replicas) -> str:
    """Yields."""
    lists = []
    for partition, brokers in replicas.items():
        yield_if_due()
        lists.append(f'"{partition}":[{",".join(map(str, brokers))}]')
    return f"{{{','.join(lists)}}}"


def _tuples(lists: dict[str, list[int]] | None) -> Replicas:
    return {
        whole_number(int(partition)): tuple(map(whole_number, brokers)) for partition, brokers in (lists or {}).items()
    }


def _filled(replicas: Replicas) -> Replicas:
    return {partition: brokers for partition, brokers in replicas.items() if brokers}
