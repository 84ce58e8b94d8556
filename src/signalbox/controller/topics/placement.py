"""Placement of the replicas of new partitions: as Kafka does it, rack-aware if every broker has a rack.

Leaders go round the brokers from a random start. Followers follow the leader at a distance that grows by one with
every full round, so that the partitions of one broker do not all share the same followers. With racks, the brokers
are first sorted so that adjacent ones are in different racks. A follower in a rack without a replica is preferred, so
that every rack gets a replica before any gets a second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from signalbox.protocol.error_table import Error, KafkaError

Placement = dict[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class PlacementRequest:
    """`first_partition` and `start` are set when partitions are added to a topic: the numbers and the round of leaders
    continue, the round from the position of the topic's first replica. Without `start` the start and the followers'
    shift are random."""

    num_partitions: int
    replication_factor: int
    first_partition: int = 0
    start: int | None = None


def place_replicas(racks: Mapping[int, str | None], request: PlacementRequest, draw: Callable[[int], int]) -> Placement:
    """Replicas by partition, preferred leader first. `racks` has a row per usable broker.

    INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR for invalid numbers."""
    if request.num_partitions <= 0:
        raise KafkaError(Error.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value.")
    if request.replication_factor <= 0:
        raise KafkaError(
            Error.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if request.replication_factor > len(racks):
        raise KafkaError(
            Error.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {request.replication_factor} time(s): The target replication factor of"
            f" {request.replication_factor} cannot be reached because only {len(racks)} broker(s) are registered.",
        )
    known = {broker: rack for broker, rack in racks.items() if rack is not None}
    brokers = _alternating(known) if len(known) == len(racks) else sorted(racks)
    start = draw(len(brokers)) if request.start is None else request.start
    shift = draw(len(brokers)) if request.start is None else request.start
    placement: Placement = {}
    for number in range(request.num_partitions):
        partition = request.first_partition + number
        if partition > 0 and partition % len(brokers) == 0:
            shift += 1
        ring = _ring(brokers, (partition + start) % len(brokers), shift)
        replicas = _cover_racks(ring, known) if len(known) == len(racks) else ring
        placement[partition] = tuple(replicas[: request.replication_factor])
    return placement


def _ring(brokers: Sequence[int], first: int, shift: int) -> list[int]:
    """All brokers, beginning with the leader, then those at distance 1 + shift, 2 + shift, ... from it."""
    others = len(brokers) - 1
    if others == 0:
        return list(brokers)
    distances = (1 + (shift + step) % others for step in range(others))
    return [brokers[first], *(brokers[(first + distance) % len(brokers)] for distance in distances)]


def _cover_racks(ring: Sequence[int], racks: Mapping[int, str]) -> list[int]:
    """The ring in rounds: in each, the first broker of every rack that is not yet in the round."""
    left, ordered = list(ring), []
    while left:
        met: set[str] = set()
        passed_over: list[int] = []
        for broker in left:
            if racks[broker] in met:
                passed_over.append(broker)
            else:
                met.add(racks[broker])
                ordered.append(broker)
        left = passed_over
    return ordered


def _alternating(racks: Mapping[int, str]) -> list[int]:
    """Brokers so that adjacent ones are in different racks as far as possible: one of each rack in turn."""
    by_rack: dict[str, list[int]] = {}
    for broker in sorted(racks):
        by_rack.setdefault(racks[broker], []).append(broker)
    columns = [by_rack[rack] for rack in sorted(by_rack)]
    longest = max(map(len, columns), default=0)
    return [column[row] for row in range(longest) for column in columns if row < len(column)]
