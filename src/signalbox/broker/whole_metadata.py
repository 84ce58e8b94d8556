"""Metadata for all topics, kept as bytes: the largest answer there is, and the same until the image changes.

Thousands of partitions take tens of milliseconds to write and half a millisecond to hand out. Few answers are kept: one
a version, listener and shown controller (which is drawn anew for every answer, F12).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from signalbox.broker.encoded_body import EncodedBody
from signalbox.common.limits import MAX_METADATA_ANSWERS_KEPT
from signalbox.common.long_work import is_long
from signalbox.metadata.image import MetadataImage
from signalbox.protocol.message import Message

WORTH_KEEPING_FROM = 64  # topics


class Shape(NamedTuple):
    """What an answer depends on beside the image."""

    version: int
    listener: str
    controller_id: int


class WholeMetadata:
    """One per broker."""

    def __init__(self) -> None:
        self._image: MetadataImage | None = None
        self._answers: dict[Shape, EncodedBody] = {}

    def answer(self, image: MetadataImage, shape: Shape, write: Callable[[], Message]) -> EncodedBody:
        """The kept answer, or what `write` makes. Breathes while it writes; the image may be history afterwards, and
        then nothing is kept of it."""
        if self._image is not image:
            self._image, self._answers = image, {}
        kept = self._answers.get(shape)
        if kept is not None:
            return kept
        message = write()
        long = is_long()
        made = EncodedBody(message.encode_long(shape.version) if long else message.encode_chunks(shape.version))
        if long:
            message.crumble()
        if self._image is image:
            if len(self._answers) >= MAX_METADATA_ANSWERS_KEPT:
                del self._answers[next(iter(self._answers))]
            self._answers[shape] = made
        return made
