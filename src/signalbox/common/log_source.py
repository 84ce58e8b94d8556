"""The client whose request causes a log line, so that the node's log handler can limit such lines.

`with LogSource(client address):` surrounds code that handles a client's request; lines that it logs below ERROR belong
to that source. A task that is created there inherits the source from asyncio, but only until the `with` block ends:
what the task does later is the node's own work. `extra=CLIENT_CAUSED` marks the few ERROR lines that a client can cause
at will; all other ERROR lines are about the node and are never limited.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar

_CLIENT_CAUSED = "client_caused"
CLIENT_CAUSED = {_CLIENT_CAUSED: True}


class LogSource:
    """A context manager. Blocks are not nested, so that its end restores nothing."""

    __slots__ = ("address",)

    def __init__(self, address: str) -> None:
        self.address = address

    def __enter__(self) -> None:
        _CURRENT.set(self)

    def __exit__(self, *_: object) -> None:
        self.address = ""


_CURRENT: ContextVar[LogSource] = ContextVar("log_source", default=LogSource(""))  # noqa: B039 (it is never changed)


def current_source() -> str:
    """The client address of the request that is being handled; empty if there is none."""
    return _CURRENT.get().address


def is_client_caused(fields: Mapping[str, object]) -> bool:
    """Whether a log record with these fields was logged with `extra=CLIENT_CAUSED`."""
    return _CLIENT_CAUSED in fields
