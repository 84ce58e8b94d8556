"""Identifiers as the wire and the metadata store carry them.

A Kafka uuid is 16 raw bytes in memory (what the codec reads and writes) and 22 characters of unpadded, URL-safe base64
in text (JSON payloads, `meta.properties`, command lines).
"""

from __future__ import annotations

import base64
import binascii
import os
from typing import NamedTuple

ZERO_UUID = bytes(16)
# Kafka reserves the first two ids: zero means "none", one is the id of the metadata topic.
_RESERVED = (ZERO_UUID, bytes(15) + b"\x01")


class TopicPartition(NamedTuple):
    """A partition by topic name: the key of most maps."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def new_uuid() -> bytes:
    """A random uuid (16 bytes) whose text does not begin with '-', as Kafka's tools need it."""
    while True:
        value = bytearray(os.urandom(16))
        value[6] = (value[6] & 0x0F) | 0x40
        value[8] = (value[8] & 0x3F) | 0x80
        made = bytes(value)
        if made not in _RESERVED and not uuid_text(made).startswith("-"):
            return made


def uuid_text(value: bytes) -> str:
    """16 bytes as 22 characters of URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(value)[:22].decode("ascii")


def uuid_bytes(text: str) -> bytes:
    """The 16 bytes of a uuid's text; ValueError if the text is not a uuid."""
    try:
        value = base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"{text!r} is not a uuid: expected 22 characters of URL-safe base64") from error
    if len(value) != 16:
        raise ValueError(f"{text!r} is not a uuid: {len(value)} bytes instead of 16")
    return value
