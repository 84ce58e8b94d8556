"""What a kind of entity must provide for its changes to be made and checked: a port, one file per implementation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Protocol

from signalbox.metadata.store.port import Entry
from signalbox.protocol.error_table import Error
from tools.chaos.changes.model import Change, State

Ask = Callable[[Any], Any]
"""Sends a request message to one broker; returns the response."""


class Kind(Protocol):
    @property
    def name(self) -> str:
        """Its name in reports."""
        ...

    @property
    def prefix(self) -> str:
        """The prefix of its entities' names."""
        ...

    @property
    def roots(self) -> tuple[str, ...]:
        """The paths of the store that hold such entities."""
        ...

    def draw(self, entity: str, state: State, random: Random) -> Change | None:
        """A change that is useful in a state; None when no further change of the entity is planned."""
        ...

    def on_response(self, entity: str, response: Any) -> Error:
        """The error of the only entry in a change's response."""
        ...

    def stored(self, tree: Mapping[str, Entry]) -> dict[str, State]:
        """The entities that are in the store, by name; an incomplete entity has facts that no change makes."""
        ...

    def described(self, ask: Ask) -> dict[str, State]:
        """The entities that one broker describes, by name."""
        ...
