"""Which replica has the longest log, if no replica is certain to have all acknowledged records (decision 0031).

All members of an ISR have every acknowledged record until a shutdown that can lose records: an unclean one, or
a log directory that was lost, truncated or restored from an older copy. If every live member of an ISR returned from
such a shutdown, the last batch decides, as between voters of a quorum: the newest leader epoch first, the end offset
next. An absent member may have more records, so it is waited for, but only for a limited time. A member without a log
is not elected: it may have lost the log. The exception: no member has one, and one of them has lost no log directory
since the topic was created. A record is acknowledged when every member of the ISR has it, so none was: the brokers died
before they got LeaderAndIsr for a new partition, and it begins empty.
"""

from __future__ import annotations

from collections.abc import Iterable

from signalbox.common.ids import TopicPartition
from signalbox.controller.context import NO_LOG, ControllerContext, LogEnd
from signalbox.metadata.broker_history import lost_log_dir_epoch
from signalbox.metadata.entries.partition_state import NO_LEADER, PartitionState

_PARTITIONS_NAMED = 10
_NOT_REPORTED = LogEnd(-1, 0)  # not reported: better than no log, and not better than an empty one


def longest_log(context: ControllerContext, partition: TopicPartition, state: PartitionState) -> int | None:
    """The live member of the ISR with the longest log. None while members are waited for, and if no live member has a
    log, unless one of them is certain to have lost none: then that member."""
    missing = missing_members(context, partition, state)
    if not state.unverified or (missing and partition not in context.waited):
        return None
    present = present_members(context, partition, state)
    candidates = [
        (broker, end) for broker in present if (end := context.log_end(broker, partition)) is not None and end != NO_LOG
    ]
    if not candidates and not missing:
        return next((broker for broker in present if not _may_have_lost_log(context, broker, partition)), None)
    return _longest(candidates)


def _may_have_lost_log(context: ControllerContext, broker: int, partition: TopicPartition) -> bool:
    """Whether the broker has come back without a log directory since the topic was created, or does not name its log
    directories."""
    live = context.brokers[broker]
    lost = lost_log_dir_epoch(context.histories.get(broker), live.registration, live.broker_epoch)
    return not live.registration.log_dirs or lost > context.topics[partition.topic].created_after


def fullest_log(context: ControllerContext, partition: TopicPartition) -> int | None:
    """The same for all live replicas, in sync or not; the first live one if nothing is known of their logs."""
    ends = [
        (broker, context.log_end(broker, partition) or _NOT_REPORTED)
        for broker in context.replicas(partition)
        if context.is_replica_online(broker, partition)
    ]
    return _longest(ends)


def present_members(context: ControllerContext, partition: TopicPartition, state: PartitionState) -> tuple[int, ...]:
    """The live members of the ISR, in the order of the assignment."""
    return tuple(
        broker
        for broker in context.replicas(partition)
        if broker in state.isr and context.is_replica_online(broker, partition)
    )


def missing_members(context: ControllerContext, partition: TopicPartition, state: PartitionState) -> tuple[int, ...]:
    """The members of the ISR that are not alive, or have not reported their log end yet."""
    present = present_members(context, partition, state)
    return tuple(broker for broker in state.isr if broker not in present or context.log_end(broker, partition) is None)


def is_waiting(context: ControllerContext, partition: TopicPartition) -> bool:
    """Whether a partition without a leader has members that returned and whose logs are still to be compared."""
    state = context.state(partition)
    return (
        state is not None
        and state.leader == NO_LEADER
        and partition not in context.waited
        and any(context.is_replica_online(broker, partition) for broker in state.unverified)
    )


def offline_reason(context: ControllerContext, partition: TopicPartition, state: PartitionState) -> str:
    """Why a partition has no leader, and how an operator brings it back."""
    present = present_members(context, partition, state)
    absent = [broker for broker in state.isr if broker not in present]
    back = f"start broker {_names(absent)} with its log directory" if absent else "restore a log directory"
    remedy = f"{back}, or accept the loss with `signalbox topic elect {partition.topic} --unclean`"
    if not present:
        return f"no in-sync replica is alive (ISR {_names(state.isr)}): {remedy}"
    if partition not in context.waited and missing_members(context, partition, state):
        waits = f"waits for broker {_names(absent)}" if absent else "is asked where its log ends"
        return f"broker {_names(present)} came back after an unclean shutdown and {waits}: {remedy}"
    return f"broker {_names(present)} came back without its log: {remedy}"


def by_offline_reason(
    context: ControllerContext, partitions: Iterable[TopicPartition]
) -> dict[str, list[TopicPartition]]:
    """Those of `partitions` that have no leader, by reason: a broker's return affects thousands for one reason."""
    reasons: dict[str, list[TopicPartition]] = {}
    for partition in partitions:
        state = context.state(partition)
        if state is not None and state.leader == NO_LEADER:
            reasons.setdefault(offline_reason(context, partition, state), []).append(partition)
    return reasons


def some_partitions(partitions: list[TopicPartition]) -> str:
    """The first of a long list, for a log line."""
    names = ", ".join(map(str, sorted(partitions)[:_PARTITIONS_NAMED]))
    return names if len(partitions) <= _PARTITIONS_NAMED else f"{names}, ..."


def _names(brokers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(brokers)))


def _longest(ends: list[tuple[int, LogEnd]]) -> int | None:
    """The first broker with the longest log."""
    if not ends:
        return None
    return max(ends, key=lambda each: each[1])[0]
