"""The public API of the metadata image: nodes per listener, names and ids."""

from __future__ import annotations

from signalbox.common.endpoint import Endpoint, SecurityProtocol
from signalbox.common.ids import ZERO_UUID
from signalbox.metadata.image import EMPTY_IMAGE, BrokerImage, MetadataImage, PartitionImage, TopicImage, deleted_topics

PLAINTEXT = SecurityProtocol.PLAINTEXT
CLIENT, INTERNAL = Endpoint("CLIENT", "h", 1, PLAINTEXT), Endpoint("INTERNAL", "h", 2, PLAINTEXT)
ID = b"x" * 16
PARTITION = PartitionImage(1, 0, (1,), (1, 2), (2,), 0, 1)
IMAGE = MetadataImage(
    brokers={
        2: BrokerImage(2, None, {"INTERNAL": INTERNAL}),
        1: BrokerImage(1, "r", {"CLIENT": CLIENT, "INTERNAL": INTERNAL}),
    },
    topics={"t": TopicImage("t", ID, {0: PARTITION}), "old": TopicImage("old", ZERO_UUID, {})},
    topic_names={ID: "t"},
    controller=(1, 5),
    stamp=7,
)


def test_L10_nodes_are_those_of_one_listener() -> None:
    assert IMAGE.nodes("CLIENT") == {1: CLIENT}
    assert list(IMAGE.nodes("INTERNAL")) == [1, 2]
    assert IMAGE.nodes("NONE") == {}
    assert IMAGE.nodes("INTERNAL") is IMAGE.nodes("INTERNAL")


def test_names_ids_and_partitions() -> None:
    assert IMAGE.topic_name(ID) == "t"
    assert IMAGE.topic_name(ZERO_UUID) is None
    assert IMAGE.topic_id("t") == ID
    assert IMAGE.topic_id("none") == IMAGE.topic_id("old") == ZERO_UUID
    assert IMAGE.partition("t", 0) is PARTITION
    assert IMAGE.partition("t", 1) is IMAGE.partition("none", 0) is None
    assert (IMAGE.is_alive(2), IMAGE.is_alive(3)) == (True, False)
    assert (IMAGE.controller_id, IMAGE.controller_epoch, IMAGE.stamp) == (1, 5, 7)


def test_the_empty_image_knows_no_controller() -> None:
    assert EMPTY_IMAGE.controller_id == -1
    assert EMPTY_IMAGE.nodes("CLIENT") == {}


def test_a_topic_that_is_gone_or_has_another_id_was_deleted() -> None:
    def image(**topics: bytes) -> MetadataImage:
        return MetadataImage({}, {name: TopicImage(name, topic_id, {}) for name, topic_id in topics.items()}, {})

    old = image(gone=ID, recreated=ID, same=ID, got_an_id=ZERO_UUID, lost_its_id=ID)
    new = image(recreated=b"y" * 16, same=ID, got_an_id=ID, lost_its_id=ZERO_UUID, created=ID)
    assert deleted_topics(old, new, sorted({*old.topics, *new.topics, "never"})) == ["gone", "recreated"]
    assert deleted_topics(old, new, ["same"]) == []
