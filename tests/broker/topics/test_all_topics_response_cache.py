"""Cached responses: at most the limit, of one metadata image, encoded once."""

from __future__ import annotations

from signalbox.broker.topics.all_topics_response_cache import AllTopicsResponseCache, ResponseKey
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
    cache, write, now = AllTopicsResponseCache(), Writer(), image(1)
    first = cache.answer(now, ResponseKey(12, "CLIENT", 1), write)
    assert cache.answer(now, ResponseKey(12, "CLIENT", 1), write) is first
    assert first.encode_chunks(12) == MetadataResponse(cluster_id="written-1").encode_chunks(12)
    for other in (ResponseKey(11, "CLIENT", 1), ResponseKey(12, "INSIDE", 1), ResponseKey(12, "CLIENT", 2)):
        assert cache.answer(now, other, write) is not first
    assert cache.answer(image(2), ResponseKey(12, "CLIENT", 1), write) is not first
    assert write.wrote == 5


def test_the_oldest_response_is_evicted() -> None:
    cache, write, now = AllTopicsResponseCache(), Writer(), image(1)
    keys = [ResponseKey(12, "CLIENT", node_id) for node_id in range(MAX_METADATA_ANSWERS_KEPT + 1)]
    for key in keys:
        cache.answer(now, key, write)
    wrote = write.wrote
    cache.answer(now, keys[-1], write)
    assert write.wrote == wrote
    cache.answer(now, keys[0], write)
    assert write.wrote == wrote + 1


def test_a_response_of_an_older_image_is_not_cached() -> None:
    cache, newer = AllTopicsResponseCache(), image(2)

    def overtaken() -> MetadataResponse:
        cache.answer(newer, ResponseKey(12, "CLIENT", 1), MetadataResponse)
        return MetadataResponse(cluster_id="old")

    old = cache.answer(image(1), ResponseKey(12, "CLIENT", 1), overtaken)
    assert cache.answer(newer, ResponseKey(12, "CLIENT", 1), Writer()) is not old
