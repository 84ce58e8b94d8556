"""Cache of encoded Metadata responses for all topics: the largest responses, and unchanged until the image changes.

For thousands of partitions, encoding takes tens of milliseconds and returning the cached bytes half a millisecond. The
cache has few entries: one per version, listener and exposed controller (which is chosen at random for every response,
F12).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from signalbox.broker.api_request import EncodedBody
from signalbox.common.cooperative_task import is_long
from signalbox.common.limits import MAX_METADATA_ANSWERS_KEPT
from signalbox.metadata.image import MetadataImage
from signalbox.protocol.message import Message

MIN_CACHED_TOPICS = 64  # topics


class ResponseKey(NamedTuple):
    """Cache key: what a response depends on besides the image."""

    version: int
    listener: str
    controller_id: int


class AllTopicsResponseCache:
    """One per broker."""

    def __init__(self) -> None:
        self._image: MetadataImage | None = None
        self._answers: dict[ResponseKey, EncodedBody] = {}

    def answer(self, image: MetadataImage, key: ResponseKey, write: Callable[[], Message]) -> EncodedBody:
        """The cached response, or the encoded result of `write`. Yields while it encodes; if the image has been
        replaced meanwhile, the response is not cached."""
        if self._image is not image:
            self._image, self._answers = image, {}
        cached = self._answers.get(key)
        if cached is not None:
            return cached
        message = write()
        long = is_long()
        encoded = EncodedBody(message.encode_long(key.version) if long else message.encode_chunks(key.version))
        if long:
            message.release_incrementally()
        if self._image is image:
            if len(self._answers) >= MAX_METADATA_ANSWERS_KEPT:
                del self._answers[next(iter(self._answers))]
            self._answers[key] = encoded
        return encoded
