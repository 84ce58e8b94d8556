"""A response body that is already encoded: the same bytes for all equal requests at one version."""

from __future__ import annotations

from typing import Any


class EncodedBody:
    """Used in place of a response message; its chunks are shared between responses and never changed."""

    __slots__ = ("chunks", "error_code")

    def __init__(self, chunks: list[Any], error_code: int = 0) -> None:
        self.chunks = chunks
        self.error_code = error_code

    def encode_chunks(self, version: int) -> list[Any]:
        return self.chunks
