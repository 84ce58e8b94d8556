"""The error codes in a response, wherever its message has them: that of the whole, and those of the entries.

Kafka has no rule for the place: CreateTopics has a code per entry of `topics`, AlterConfigs per entry of `responses`,
AlterPartition one for the whole. This works for every API; it is used to detect NOT_CONTROLLER.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from signalbox.protocol.error_table import Error


def error_codes(answer: Any) -> Iterator[int]:
    """The codes of a response and of the entries of its arrays, in schema order; entries inside entries are not
    searched."""
    for name in answer._attributes:
        value = getattr(answer, name)
        if name == "error_code":
            yield value
        elif isinstance(value, list | tuple):
            for entry in value:
                code = getattr(entry, "error_code", None)
                if code is not None:
                    yield code


def says_not_controller(answer: Any) -> bool:
    """Whether the response says that its node is not the active controller; one such entry among many is enough."""
    return Error.NOT_CONTROLLER in error_codes(answer)
