"""Cached responses: at most the limit, of one metadata image, encoded once."""

from __future__ import annotations

from signalbox.broker.all_topics_response_cache import AllTopicsResponseCache, ResponseKey
from signalbox.common.limits import MAX_METADATA_ANSWERS_KEPT
from signalbox.metadata.image import MetadataImage
from signalbox.protocol.messages.metadata import MetadataResponse


def image(stamp: int) -> MetadataImage:
    return MetadataImage({}, {}, {}, stamp=stamp)


class Writer:
    def __init__(self) -> None:
        self.wrote = 0

    def __call__(self) -> MetadataResponse:
        self.wrote += 1
        return MetadataResponse(cluster_id=f"written-{self.wrote}")


def test_a_response_is_encoded_once_per_key_and_image() -> None:
    whole, write, now = AllTopicsResponseCache(), Writer(), image(1)
    first = whole.answer(now, ResponseKey(12, "CLIENT", 1), write)
    assert whole.answer(now, ResponseKey(12, "CLIENT", 1), write) is first
    assert first.encode_chunks(12) == MetadataResponse(cluster_id="written-1").encode_chunks(12)
    for other in (ResponseKey(11, "CLIENT", 1), ResponseKey(12, "INSIDE", 1), ResponseKey(12, "CLIENT", 2)):
        assert whole.answer(now, other, write) is not first
    assert whole.answer(image(2), ResponseKey(12, "CLIENT", 1), write) is not first
    assert write.wrote == 5


def test_the_oldest_answer_makes_room() -> None:
    whole, write, now = AllTopicsResponseCache(), Writer(), image(1)
    shapes = [ResponseKey(12, "CLIENT", node_id) for node_id in range(MAX_METADATA_ANSWERS_KEPT + 1)]
    for shape in shapes:
        whole.answer(now, shape, write)
    wrote = write.wrote
    whole.answer(now, shapes[-1], write)
    assert write.wrote == wrote
    whole.answer(now, shapes[0], write)
    assert write.wrote == wrote + 1


def test_what_became_history_while_it_was_written_is_not_kept() -> None:
    whole, newer = AllTopicsResponseCache(), image(2)

    def overtaken() -> MetadataResponse:
        whole.answer(newer, ResponseKey(12, "CLIENT", 1), MetadataResponse)
        return MetadataResponse(cluster_id="old")

    old = whole.answer(image(1), ResponseKey(12, "CLIENT", 1), overtaken)
    assert whole.answer(newer, ResponseKey(12, "CLIENT", 1), Writer()) is not old
