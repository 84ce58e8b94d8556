from __future__ import annotations

from signalbox.client.cluster.metadata_view import MetadataView
from signalbox.common.ids import TopicPartition
from signalbox.protocol.messages.metadata import MetadataResponse
from signalbox.protocol.messages.produce import ProduceResponse

T = TopicPartition("t", 0)


def answer(leader: int, leader_epoch: int, topic_id: bytes = b"1" * 16, name: str = "t") -> MetadataResponse:
    made = MetadataResponse
    partition = made.MetadataResponsePartition(leader_id=leader, leader_epoch=leader_epoch, isr_nodes=[leader])
    return made(
        cluster_id="c",
        controller_id=1,
        brokers=[made.MetadataResponseBroker(node_id=n, host=f"h{n}", port=n, rack="r") for n in (1, 2)],
        topics=[made.MetadataResponseTopic(name=name, topic_id=topic_id, partitions=[partition])],
    )


def test_an_answer_becomes_the_view_and_other_topics_stay() -> None:
    view = MetadataView()
    view.adopt(answer(1, 5))
    view.adopt(answer(2, 1, b"2" * 16, "u"))
    assert (view.cluster_id, view.controller_id, sorted(view.nodes), sorted(view.topics)) == (
        "c",
        1,
        [1, 2],
        ["t", "u"],
    )
    assert str(view.nodes[2].address) == "h2:2"
    assert view.leader_of(T) == 1
    assert view.name_of(b"2" * 16) == "u"
    assert view.name_of(b"3" * 16) is None
    view.forget()
    assert (view.cluster_id, view.nodes, view.topics) == (None, {}, {})


def test_an_older_leader_epoch_does_not_replace_a_newer_one_unless_the_topic_id_is_another() -> None:
    view = MetadataView()
    view.adopt(answer(1, 5))
    view.adopt(answer(2, 4))
    assert view.leader_of(T) == 1
    view.adopt(answer(2, 6))
    assert view.leader_of(T) == 2
    view.adopt(answer(1, 0, b"9" * 16))
    assert view.leader_of(T) == 1


def test_a_leader_that_is_no_known_node_is_none() -> None:
    view = MetadataView()
    view.adopt(answer(-1, 5))
    assert view.leader_of(T) is None
    view.adopt(answer(7, 6))
    assert view.leader_of(T) is None
    assert view.leader_of(TopicPartition("t", 3)) is None
    assert view.leader_of(TopicPartition("x", 0)) is None


def test_a_hint_is_applied_when_its_leader_epoch_is_newer() -> None:
    view = MetadataView()
    view.adopt(answer(1, 5))
    ends = [ProduceResponse.NodeEndpoint(node_id=9, host="h9", port=9)]
    assert not view.hint_leader(T, -1, -1, ends)
    assert not view.hint_leader(T, 2, 5, ends)
    assert not view.hint_leader(T, 8, 6, ends), "the address of node 8 is unknown"
    assert view.hint_leader(T, 9, 6, ends)
    assert view.leader_of(T) == 9
    assert str(view.nodes[9].address) == "h9:9"
    assert not view.hint_leader(TopicPartition("x", 0), 1, 9, ends)
