"""ElectLeaders: elected leaders, results, and the condition that the response waits for."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.controller.decision import Decision, LeadersAnnounced
from signalbox.controller.partitions.election_control import elect_leaders
from signalbox.metadata.image import MetadataImage, PartitionImage, TopicImage
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from tests.controller.cluster import inputs
from tests.controller.contexts import make_context, states, tp

PREFERRED, UNCLEAN = 0, 1
CONTEXT = make_context(
    1, 2,
    topics={
        "t": {0: "1 2*", 1: "1* 2", 2: "1 2* isr 2", 3: "9 2*"},
        "off": {0: "9 1 isr 9", 1: "9 8", 2: "9 1 isr new", 3: "9 1 isr 1"},
        "going": {0: "1 2*"},
    },
    deleting={"going": frozenset()},
)  # fmt: skip


def elect(kind: int, *named: tuple[str, list[int]], timeout_ms: int = 9) -> Decision:
    made = ElectLeadersRequest.TopicPartitions
    topics = [made(topic=name, partitions=numbers) for name, numbers in named] if named else None
    request = ElectLeadersRequest(election_type=kind, topic_partitions=topics, timeout_ms=timeout_ms)
    return elect_leaders(CONTEXT, inputs(), request)


def results(response: Any) -> dict[str, Error]:
    assert isinstance(response, ElectLeadersResponse)
    return {
        f"{topic.topic}-{each.partition_id}": Error.of(each.error_code)
        for topic in response.replica_election_results
        for each in topic.partition_result
    }


@pytest.mark.parametrize(
    ("kind", "topic", "partition", "error", "state"),
    [
        (PREFERRED, "t", 0, Error.NONE, "1/8/4 isr 1 2"),
        (PREFERRED, "t", 1, Error.ELECTION_NOT_NEEDED, ""),
        (PREFERRED, "t", 2, Error.PREFERRED_LEADER_NOT_AVAILABLE, ""),  # not in sync
        (PREFERRED, "t", 3, Error.PREFERRED_LEADER_NOT_AVAILABLE, ""),  # no such partition
        (PREFERRED, "off", 2, Error.PREFERRED_LEADER_NOT_AVAILABLE, ""),  # never had a leader
        (PREFERRED, "t", 9, Error.UNKNOWN_TOPIC_OR_PARTITION, ""),
        (PREFERRED, "none", 0, Error.UNKNOWN_TOPIC_OR_PARTITION, ""),
        (PREFERRED, "going", 0, Error.INVALID_TOPIC_EXCEPTION, ""),
        (UNCLEAN, "t", 0, Error.ELECTION_NOT_NEEDED, ""),
        (UNCLEAN, "off", 0, Error.NONE, "1/8/4 isr 1"),  # not in sync, but the only living replica
        (UNCLEAN, "off", 1, Error.ELIGIBLE_LEADERS_NOT_AVAILABLE, ""),
        (UNCLEAN, "off", 2, Error.NONE, "1/0/0 isr 1"),
        (UNCLEAN, "off", 3, Error.NONE, "1/8/4 isr 1"),  # a clean election is possible
        (UNCLEAN, "none", 0, Error.UNKNOWN_TOPIC_OR_PARTITION, ""),
    ],
)
def test_one_partition(kind: int, topic: str, partition: int, error: Error, state: str) -> None:
    decision = elect(kind, (topic, [partition, partition]))
    name = f"{topic}-{partition}"
    assert results(decision.response) == {name: error}
    assert states(decision) == ({name: state} if state else {})
    assert (decision.visibility is None) == (error is not Error.NONE)


def test_everything_leaves_out_what_needs_none() -> None:
    assert results(elect(PREFERRED).response) == {
        "t-0": Error.NONE,
        **dict.fromkeys(("t-2", "t-3", "off-0", "off-1", "off-2", "off-3"), Error.PREFERRED_LEADER_NOT_AVAILABLE),
    }
    unclean = elect(UNCLEAN)
    assert results(unclean.response) == {
        "off-0": Error.NONE,
        "off-1": Error.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        "off-2": Error.NONE,
        "off-3": Error.NONE,
    }
    assert unclean.effects == (
        LeadersAnnounced((tp(0, "off"), tp(3, "off"))),
        LeadersAnnounced((tp(2, "off"),), is_new=True),
    )


def test_nothing_asked_nothing_done() -> None:
    request = ElectLeadersRequest(topic_partitions=[], timeout_ms=9)
    decision = elect_leaders(CONTEXT, inputs(), request)
    assert (results(decision.response), decision.records, decision.visibility) == ({}, (), None)


def test_another_kind_of_election() -> None:
    decision = elect(7)
    assert isinstance(decision.response, ElectLeadersResponse)
    assert (decision.response.error_code, decision.records) == (Error.INVALID_REQUEST, ())


def test_the_answer_waits_for_what_the_metadata_shows_and_names_what_was_late() -> None:
    def image(leader_epochs: dict[int, int]) -> MetadataImage:
        partitions = {
            number: PartitionImage(1, leader_epoch, (), (), (), 0, 0) for number, leader_epoch in leader_epochs.items()
        }
        return MetadataImage({}, {"off": TopicImage("off", b"", partitions)}, {})

    visibility = elect(UNCLEAN, ("off", [0, 1, 3])).visibility
    assert visibility is not None
    assert visibility.timeout_ms == 9
    assert not visibility.holds(image({0: 8, 3: 7}))
    assert results(visibility.when_late()) == {
        "off-0": Error.NONE,
        "off-1": Error.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        "off-3": Error.REQUEST_TIMED_OUT,
    }
    assert visibility.holds(image({3: 9})), "a later election shows it too"
