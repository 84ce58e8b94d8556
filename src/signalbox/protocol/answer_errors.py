"""The error codes of an answer, wherever its message keeps them: of the whole, and of each thing that was asked for.

Kafka has no rule for the place: CreateTopics has one an entry of `topics`, AlterConfigs of `responses`, AlterPartition
one for all. Whoever has to know whether a node denied being the controller asks here, for any API.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from signalbox.protocol.error_table import Error


def error_codes(answer: Any) -> Iterator[int]:
    """Codes of a response and of the entries of its arrays, in schema order; entries within entries have none."""
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
    """Whether the node that answered denies being the active controller; one entry among many is enough."""
    return Error.NOT_CONTROLLER in error_codes(answer)
