"""The metadata stores a run can be made on: how brokers are told of one, and how its state is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from signalbox.testing.chaos.state_reader import StateReader, state_in_file, state_in_zookeeper
from signalbox.testing.zookeeper import ensemble


@dataclass(frozen=True, slots=True)
class Store:
    """`settings` go into each broker's properties."""

    settings: dict[str, str]
    state: Callable[[], AbstractContextManager[StateReader]]


@contextmanager
def _sqlite(folder: Path, session_ms: int) -> Iterator[Store]:
    file = folder / "metadata.db"
    settings = {"metadata.store": f"sqlite:{file}", "broker.session.timeout.ms": str(session_ms)}
    yield Store(settings, partial(state_in_file, file))


@contextmanager
def _zookeeper(folder: Path, session_ms: int) -> Iterator[Store]:
    with ensemble(folder) as (server,):
        connect = f"{server.address}/signalbox"
        settings = {"metadata.store": f"zookeeper:{connect}", "zookeeper.session.timeout.ms": str(session_ms)}
        yield Store(settings, partial(state_in_zookeeper, connect))


STORES: dict[str, Callable[[Path, int], AbstractContextManager[Store]]] = {"sqlite": _sqlite, "zookeeper": _zookeeper}
"""By name: given a folder and the session timeout in ms, the running store."""
