"""Log messages of an event batch that is stored: brokers that left or joined, leaders that changed.

One line for all partitions that changed in the same way: the failure of a broker moves thousands. A broker that is lost
is one WARNING, whether its registration ends under this controller or had ended before it was elected.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from dataclasses import replace

from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.ids import TopicPartition, partition_list
from signalbox.controller.brokers.broker_restarts import after_unclean_shutdown, new_registrations
from signalbox.controller.context import ControllerContext, LiveBroker
from signalbox.controller.decision import Decision
from signalbox.controller.records import BrokerJoined, BrokerLeft, PartitionStateChanged
from signalbox.metadata.entries.partition_state import NO_LEADER, LeaderRecoveryState, PartitionState

log = logging.getLogger(__name__)

_FIRST_EPOCH = 1  # of the cluster's first controller: there was no earlier one


def log_changes(
    before: ControllerContext, decisions: Iterable[Decision], stopping: bool = False, found: Collection[int] = ()
) -> int:
    """The number of unclean elections among the changes. `before`: the context that the first of `decisions` was made
    on. `stopping`: this node stops, maybe with the whole cluster. `found`: the epochs of the brokers that were live
    when this controller was elected. Yields.

    Only the controller before this one knew which of those had asked for a controlled shutdown. One that is lost is
    logged at INFO while this node stops, or if it held no partition that a controlled shutdown would have moved. So is
    a leader or member of an ISR that this controller found unregistered."""
    states, unclean = dict[TopicPartition, PartitionState](), 0
    registered, absent = set(before.brokers), set[int]()
    for decision in decisions:
        left = {record.broker_id for record in decision.records if isinstance(record, BrokerLeft)}
        joined = [record.broker for record in decision.records if isinstance(record, BrokerJoined)]
        quiet = left if stopping else {broker_id for broker_id in left if _may_have_asked(before, broker_id, found)}
        _log_brokers(before, left, quiet, {each.registration.broker_id: each for each in joined})
        registered.update(left, (each.registration.broker_id for each in joined))
        changed = _changed(decision)
        elections: dict[tuple[int, int, str], list[TopicPartition]] = {}
        for partition, state in changed.items():
            yield_if_due()
            previous = states.get(partition) or before.state(partition)
            if previous is None:
                continue
            unclean += state.unclean_epoch > previous.unclean_epoch
            if previous.leader != NO_LEADER and len(before.replicas(partition)) > 1:
                absent.update({previous.leader, *previous.isr} - registered)
            if previous.leader != state.leader:
                reason = _reason(before, previous, state, left)
                elections.setdefault((previous.leader, state.leader, reason), []).append(partition)
        states.update(changed)
        for (old, new, reason), partitions in elections.items():
            _log_election(old, new, reason, partitions)
    _log_absent(before, absent, stopping)
    return unclean


def _changed(decision: Decision) -> dict[TopicPartition, PartitionState]:
    """The last state of each partition that a decision changes, however many records change it. Yields."""
    changed = {}
    for record in decision.records:
        yield_if_due()
        if isinstance(record, PartitionStateChanged):
            changed[record.partition] = record.state
    return changed


def _may_have_asked(before: ControllerContext, broker_id: int, found: Collection[int]) -> bool:
    """Whether the broker may have asked an earlier controller for a controlled shutdown. Yields."""
    broker = before.brokers.get(broker_id)
    if broker is None or broker.broker_epoch not in found or before.controller_epoch == _FIRST_EPOCH:
        return False
    replicated = [each for each in before.partitions_on(broker_id) if len(before.replicas(each)) > 1]
    states = [state for each in replicated if (state := before.state(each)) is not None]
    return not any(broker_id in state.isr for state in states)


def _log_absent(before: ControllerContext, absent: set[int], stopping: bool) -> None:
    """Brokers that a new controller found in ISRs, but not registered: their sessions ended while there was none. While
    the whole cluster starts, no broker has outlived the last controller: the others are expected, not lost."""
    starts = new_registrations(before) == before.brokers.keys()
    level = logging.INFO if stopping or starts else logging.WARNING
    for broker_id in sorted(absent):
        log.log(level, "Broker %d is gone: it is in the ISR of partitions and was not registered when this controller"
                " was elected", broker_id)  # fmt: skip


def _log_brokers(before: ControllerContext, left: set[int], quiet: set[int], joined: dict[int, LiveBroker]) -> None:
    present = replace(before, brokers={**before.brokers, **joined})
    unclean = after_unclean_shutdown(present, left & joined.keys())
    for broker_id in sorted(left):
        if broker_id in unclean:
            log.warning("Broker %d restarted after an unclean shutdown (broker epoch=%d)", broker_id,
                        joined[broker_id].broker_epoch)  # fmt: skip
        elif broker_id in joined:
            log.info("Broker %d restarted (broker epoch=%d)", broker_id, joined[broker_id].broker_epoch)
        elif broker_id in before.shutting_down:
            log.info("Broker %d has shut down", broker_id)
        else:
            level = logging.INFO if broker_id in quiet else logging.WARNING
            log.log(level, "Broker %d is gone: its session has ended without a controlled shutdown", broker_id)
    for broker_id in sorted(joined.keys() - left - before.brokers.keys()):
        log.info("Broker %d joined (broker epoch=%d)", broker_id, joined[broker_id].broker_epoch)


def _reason(before: ControllerContext, previous: PartitionState, state: PartitionState, left: set[int]) -> str:
    if state.recovery is LeaderRecoveryState.RECOVERING:
        return "unclean election: no member of the ISR is alive"
    if previous.leader == NO_LEADER:
        return "a member of the ISR is back"
    if previous.leader in before.shutting_down:
        return f"broker {previous.leader} shuts down"
    if previous.leader in left or previous.leader not in before.brokers:
        return f"broker {previous.leader} is gone"
    return "preferred leader, reassignment, or a replica that failed"


def _log_election(old: int, new: int, reason: str, partitions: list[TopicPartition]) -> None:
    if new == NO_LEADER:
        log.info("Leader lost (leader before=%d, reason=%s, partitions=%s): no member of the ISR can lead", old, reason,
                 partition_list(partitions))  # fmt: skip
        return
    before = "none" if old == NO_LEADER else str(old)
    log.info("Leader elected (leader=%d, leader before=%s, reason=%s, partitions=%s)", new, before, reason,
             partition_list(partitions))  # fmt: skip
