"""Responses with one error code at every place where Kafka puts it, for each API.

When a request fails completely, Kafka returns a response with the structure of the request: the code per topic, per
partition, per group or at the top. There is a small function per structure, a row for each API that has its own, and a
table for each kind of request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FailedRequest:
    """A failed request: its body, and the version of the response."""

    body: Any
    version: int


# From the request, the response's class, the error code, and the message for responses that have a field for it.
ErrorBuilder = Callable[[FailedRequest, type[Any], int, str | None], Any]


def top_level(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    """For the APIs without a function of their own."""
    result = response(error_code=code)
    if message is not None and hasattr(result, "error_message"):
        result.error_message = message
    return result
