"""Conditions that responses wait for."""

from __future__ import annotations

from signalbox.controller.visibility import all_gone, all_led
from signalbox.metadata.image import EMPTY_IMAGE, MetadataImage, PartitionImage, TopicImage

ID, OTHER = b"i" * 16, b"o" * 16


def image(topic_id: bytes, *leaders: int) -> MetadataImage:
    partitions = {number: PartitionImage(leader, 0, (), (), (), 0, 0) for number, leader in enumerate(leaders)}
    return MetadataImage({}, {"t": TopicImage("t", topic_id, partitions)}, {})


def test_led_means_every_partition_of_this_very_topic() -> None:
    assert not all_led({"t": ID}, {"t": 2})(EMPTY_IMAGE)
    assert not all_led({"t": ID}, {"t": 2})(image(ID, 1))
    assert not all_led({"t": ID}, {"t": 2})(image(ID, 1, -1))
    assert not all_led({"t": ID}, {"t": 2})(image(OTHER, 1, 1))
    assert all_led({"t": ID}, {"t": 2})(image(ID, 1, 2))


def test_led_once_is_enough() -> None:
    holds = all_led({"t": ID, "u": ID}, {"t": 1, "u": 1})
    assert not holds(image(ID, 1))
    both = MetadataImage({}, {"u": image(ID, 1).topics["t"]}, {})
    assert holds(both), "t was seen led before"


def test_gone_means_unknown_or_another_topic() -> None:
    holds = all_gone({"t": ID})
    assert (holds(image(ID, 1)), holds(image(OTHER, 1)), holds(EMPTY_IMAGE)) == (False, True, True)
