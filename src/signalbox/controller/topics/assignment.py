"""Manual replica assignments: which are valid, for new topics and for partitions that are added to a topic."""

from __future__ import annotations

from collections import Counter
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
            raise _rejection(f"Found multiple manual partition assignments for partition {partition}")
        reject_replica_list(brokers)
        for broker in brokers:
            if broker not in context.brokers:
                raise _rejection(
                    f"The manual partition assignment includes broker {broker}, but no such broker is registered."
                )
        placement[partition] = tuple(brokers)
    expected = list(range(first_partition, first_partition + len(placement)))
    if list(placement) != expected:
        raise _rejection(f"partitions should be a consecutive 0-based integer sequence: {list(placement)}")
    factor = replication_factor or len(next(iter(placement.values())))
    for replicas in placement.values():
        if len(replicas) != factor:
            raise _rejection(
                f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this is not"
                f" consistent with previous partitions, which have {factor} replica(s)."
            )
    return placement


def reject_replica_list(brokers: Sequence[int]) -> None:
    """INVALID_REPLICA_ASSIGNMENT for an empty list and for one that names a broker twice."""
    if not brokers:
        raise _rejection("The manual partition assignment includes an empty replica list.")
    for broker, count in Counter(brokers).items():
        if count > 1:
            raise _rejection(f"The manual partition assignment includes the broker {broker} more than once.")


def _rejection(message: str) -> KafkaError:
    return KafkaError(Error.INVALID_REPLICA_ASSIGNMENT, message)
