"""Manual replica assignments: which are valid, for new topics and for partitions that are added to a topic."""

from __future__ import annotations

from collections.abc import Sequence

from signalbox.controller.context import ControllerContext
from signalbox.controller.topics.placement import Placement
from signalbox.protocol.error_table import Error, KafkaError


def manual_assignment(
    context: ControllerContext,
    given: Sequence[tuple[int, Sequence[int]]],
    first_partition: int,
    replication_factor: int | None = None,
) -> Placement:
    """The assignment as a placement; an invalid one raises INVALID_REPLICA_ASSIGNMENT with the reason.

    Partitions must be numbered without a gap from `first_partition`. All have as many replicas as the first (or
    `replication_factor`), each replica on a different registered broker."""
    placement: Placement = {}
    for partition, brokers in sorted(given, key=lambda pair: pair[0]):
        if partition in placement:
            raise _rejection(f"Partition {partition} is assigned twice.")
        if not brokers:
            raise _rejection(f"Partition {partition} is assigned to no broker.")
        if len(set(brokers)) != len(brokers):
            raise _rejection(f"Duplicate replica assignment found: {list(brokers)} for partition {partition}.")
        for broker in brokers:
            if broker not in context.brokers:
                raise _rejection(f"Partition {partition} is assigned to broker {broker}, which is not registered.")
        placement[partition] = tuple(brokers)
    expected = list(range(first_partition, first_partition + len(placement)))
    if list(placement) != expected:
        raise _rejection(f"Partitions should be a consecutive 0-based integer sequence: {list(placement)}.")
    factor = replication_factor or len(next(iter(placement.values())))
    for partition, replicas in placement.items():
        if len(replicas) != factor:
            raise _rejection(
                f"Inconsistent replication factor between partitions: partition {partition} has {len(replicas)} "
                f"replicas, expected {factor}."
            )
    return placement


def _rejection(message: str) -> KafkaError:
    return KafkaError(Error.INVALID_REPLICA_ASSIGNMENT, message)
