"""The error codes in a response, wherever its message has them: the top-level one, and those of the entries.

Kafka has no rule for the place: CreateTopics has a code per entry of `topics`, AlterConfigs per entry of `responses`,
AlterPartition a top-level one. This works for every API; it is used to detect NOT_CONTROLLER.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from signalbox.protocol.error_table import Error


def error_codes(response: Any) -> Iterator[int]:
    """The codes of a response and of the entries of its arrays, in schema order; entries inside entries are not
    searched."""
    for name in response._attributes:
        value = getattr(response, name)
        if name == "error_code":
            yield value
        elif isinstance(value, list | tuple):
            for entry in value:
                code = getattr(entry, "error_code", None)
                if code is not None:
                    yield code


def has_not_controller_error(response: Any) -> bool:
    """Whether the response has NOT_CONTROLLER; one such entry among many is enough."""
    return Error.NOT_CONTROLLER in error_codes(response)
