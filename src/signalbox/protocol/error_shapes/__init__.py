"""The same error code at every place where Kafka puts it, in the shape of each API's response.

Kafka answers a request that fails as a whole in the request's own shape: per topic, per partition, per group or at
the top. A small function for a shape, a row for each API that has its own, a table for each kind of request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that fails as a whole: its body, and the version that the answer is for."""

    body: Any
    version: int


# From what was asked, the response's class, the error code, and the words for it where the response has room for them.
Shape = Callable[[Asked, type[Any], int, str | None], Any]


def top_level(asked: Asked, response: type[Any], code: int, message: str | None) -> Any:
    """Of the APIs that have no shape of their own."""
    answer = response(error_code=code)
    if message is not None and hasattr(answer, "error_message"):
        answer.error_message = message
    return answer
