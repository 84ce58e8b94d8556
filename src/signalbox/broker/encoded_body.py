"""An answer that is bytes already: the same body for everybody who asks alike, at one version."""

from __future__ import annotations

from typing import Any


class EncodedBody:
    """Stands in for a response message; its chunks are shared and never changed."""

    __slots__ = ("chunks", "error_code")

    def __init__(self, chunks: list[Any], error_code: int = 0) -> None:
        self.chunks = chunks
        self.error_code = error_code

    def encode_chunks(self, version: int) -> list[Any]:
        return self.chunks
