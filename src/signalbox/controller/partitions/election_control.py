"""ElectLeaders as a decision (KIP-183, KIP-460).

An election type says which partitions need an election, by which strategy, and which error is returned if no replica is
eligible. If a request names no partitions, all are meant, and those that need no election are left out of the response.
The response waits until the new leaders are in the local metadata; the error of a partition whose leader is not there
in time is REQUEST_TIMED_OUT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.ids import TopicPartition
from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision, Effect, Inputs, LeadersAnnounced, Visibility
from signalbox.controller.partitions.election import Strategy, propose
from signalbox.controller.partitions.partition_control import bring_online, elected, has_live_leader
from signalbox.controller.records import PartitionCreated, PartitionStateChanged
from signalbox.controller.store.topic_corruption import rejection
from signalbox.controller.visibility import LeadersSeen
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse

_Result = ElectLeadersResponse.PartitionResult
_Elected = PartitionCreated | PartitionStateChanged
_PartitionResult = tuple[Error, str | None]


def _led_by_its_head(context: ControllerContext, partition: TopicPartition) -> bool:
    state = context.state(partition)
    return state is not None and state.leader == context.replicas(partition)[0]


def _preferred(context: ControllerContext, partition: TopicPartition) -> _Elected | None:
    state, proposal = context.state(partition), propose(context, partition, Strategy.PREFERRED)
    if state is None or proposal is None:
        return None
    return PartitionStateChanged(partition, elected(context, state, proposal))


def _unclean(context: ControllerContext, partition: TopicPartition) -> _Elected | None:
    """Yields."""
    created, changed = bring_online(context, [partition], lambda topic: True)
    made: list[_Elected] = [*created, *changed]
    return made[0] if made else None


@dataclass(frozen=True, slots=True)
class _Kind:
    """`is_fine`: no election is needed. `elect`: the new state, None if no replica is eligible; `no_leader_error` is
    returned then."""

    is_fine: Callable[[ControllerContext, TopicPartition], bool]
    elect: Callable[[ControllerContext, TopicPartition], _Elected | None]
    no_leader_error: Error


_KINDS: dict[int, _Kind] = {
    0: _Kind(_led_by_its_head, _preferred, Error.PREFERRED_LEADER_NOT_AVAILABLE),
    1: _Kind(has_live_leader, _unclean, Error.ELIGIBLE_LEADERS_NOT_AVAILABLE),
}


def elect_leaders(context: ControllerContext, inputs: Inputs, request: ElectLeadersRequest) -> Decision:
    """Elections where they are needed and possible, and a response for all partitions. Yields."""
    kind = _KINDS.get(request.election_type)
    if kind is None:
        return Decision(response=ElectLeadersResponse(error_code=Error.INVALID_REQUEST))
    everything = request.topic_partitions is None
    results: dict[TopicPartition, _PartitionResult] = {}
    changes: list[_Elected] = []
    for partition in dict.fromkeys(context.partitions() if everything else _named(request)):
        yield_if_due()
        elected_or_error = _elect(context, kind, partition)
        if isinstance(elected_or_error, tuple):
            if not (everything and elected_or_error[0] is Error.ELECTION_NOT_NEEDED):
                results[partition] = elected_or_error
        else:
            results[partition] = (Error.NONE, None)
            changes.append(elected_or_error)
    response = _response(results)
    if not changes:
        return Decision(response=response)
    seen = LeadersSeen({each.partition: each.state.leader_epoch for each in changes})
    late = (Error.REQUEST_TIMED_OUT, Error.REQUEST_TIMED_OUT.message)
    return Decision(
        records=tuple(changes),
        response=response,
        effects=tuple(_effects(changes)),
        visibility=Visibility(
            seen.holds, request.timeout_ms, lambda: _response({**results, **dict.fromkeys(seen.waiting, late)})
        ),
    )


def _named(request: ElectLeadersRequest) -> Iterable[TopicPartition]:
    for topic in request.topic_partitions or ():
        for partition in topic.partitions:
            yield TopicPartition(topic.topic, partition)


def _elect(context: ControllerContext, kind: _Kind, partition: TopicPartition) -> _Elected | _PartitionResult:
    if context.is_quarantined(partition):
        rejected = rejection(partition.topic, context.corrupt_topics[partition.topic])
        return rejected.error, rejected.message
    if not context.replicas(partition):
        what = f"partition as {partition}" if partition.topic in context.topics else f"topic as {partition.topic}"
        return Error.UNKNOWN_TOPIC_OR_PARTITION, f"No such {what}"
    if context.usable_topic(partition.topic) is None:
        return Error.INVALID_TOPIC_EXCEPTION, "The topic is being deleted"
    if kind.is_fine(context, partition):
        return Error.ELECTION_NOT_NEEDED, Error.ELECTION_NOT_NEEDED.message
    return kind.elect(context, partition) or (
        kind.no_leader_error,
        f"Failed to elect leader for partition {partition}: {kind.no_leader_error.message}",
    )


def _effects(changes: Iterable[_Elected]) -> Iterable[Effect]:
    led = tuple(each.partition for each in changes if isinstance(each, PartitionStateChanged))
    created = tuple(each.partition for each in changes if isinstance(each, PartitionCreated))
    if led:
        yield LeadersAnnounced(led)
    if created:
        yield LeadersAnnounced(created, is_new=True)


def _response(results: Mapping[TopicPartition, _PartitionResult]) -> ElectLeadersResponse:
    topics: dict[str, list[_Result]] = {}
    for (topic, partition), (error, message) in results.items():
        result = _Result(partition_id=partition, error_code=error, error_message=message)
        topics.setdefault(topic, []).append(result)
    topic_result = ElectLeadersResponse.ReplicaElectionResult
    return ElectLeadersResponse(
        replica_election_results=[
            topic_result(topic=name, partition_result=partition_results) for name, partition_results in topics.items()
        ]
    )
