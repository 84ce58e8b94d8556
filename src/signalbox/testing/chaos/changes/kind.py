"""What a kind of entity must tell for its changes to be made and judged: a port with one file per implementation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Protocol

from signalbox.metadata.store.port import Entry
from signalbox.protocol.error_table import Error
from signalbox.testing.chaos.changes.model import Change, State

Ask = Callable[[Any], Any]
"""Sends a request message to one broker; its answer."""


class Kind(Protocol):
    @property
    def name(self) -> str:
        """For people."""
        ...

    @property
    def prefix(self) -> str:
        """What the names of its entities begin with."""
        ...

    @property
    def roots(self) -> tuple[str, ...]:
        """The folders of the store where such entities are."""
        ...

    def draw(self, entity: str, state: State, random: Random) -> Change | None:
        """A change that makes sense in a state; None when the entity's story is over."""
        ...

    def heard(self, entity: str, response: Any) -> Error:
        """How the only entry of a change's answer ended."""
        ...

    def stored(self, tree: Mapping[str, Entry]) -> dict[str, State]:
        """The entities that are in the store, by name; what is half there has facts that no change makes."""
        ...

    def described(self, ask: Ask) -> dict[str, State]:
        """The entities that one broker knows, by name."""
        ...
