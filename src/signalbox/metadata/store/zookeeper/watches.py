"""The port's lasting watches over ZooKeeper's one-shot ones.

A watched path has two of ZooKeeper's: on the entry (made, written, deleted) and on the set of its children. What fired
is set again first and told second: requests of a session are served in order, so a read that the callback asks for
comes after the new watch, and nothing falls between the two. A lost connection may have swallowed events: when it is
back every watch is set anew and told once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from kazoo.protocol.serialization import Exists, GetChildren

from signalbox.metadata.store.zookeeper.session import Session

log = logging.getLogger(__name__)


class Watches:
    """Callbacks by path (the ensemble's paths). Set in `session` as long as there is one."""

    def __init__(self) -> None:
        self._watched: dict[str, _Watched] = {}
        self._session: Session | None = None

    def add(self, path: str, callback: Callable[[], None]) -> None:
        """One callback more."""
        watched = self._watched.get(path)
        if watched is None:
            watched = self._watched[path] = _Watched(path)
            if self._session is not None:
                watched.set_in(self._session)
        watched.callbacks.append(callback)

    def remove(self, path: str, callback: Callable[[], None]) -> None:
        """One callback less. ZooKeeper's own watch stays until it fires."""
        watched = self._watched.get(path)
        if watched is not None and callback in watched.callbacks:
            watched.callbacks.remove(callback)
            if not watched.callbacks:
                watched.session = None
                del self._watched[path]

    def use(self, session: Session | None) -> None:
        """Watch in this session of ZooKeeper's from here on; None: the watches rest."""
        self._session = session
        for watched in list(self._watched.values()):
            watched.session = None
            if session is not None:
                watched.set_in(session)

    def connected(self, session: Session) -> None:
        """The connection is there (again): set everything anew, and tell, because something may have been missed."""
        if session is self._session:
            self.use(session)
            for watched in list(self._watched.values()):
                watched.tell()


class _Watched:
    def __init__(self, path: str) -> None:
        self.path = path
        self.callbacks: list[Callable[[], None]] = []
        self.session: Session | None = None
        self._on_entry: Callable[[Any], None] | None = None
        self._on_children: Callable[[Any], None] | None = None

    def set_in(self, session: Session) -> None:
        if session is not self.session:
            self.session = session
            # One object each for the whole session: kazoo calls an object that was handed in twice once.
            self._on_entry = session.watcher(lambda: self._entry_changed(session))
            self._on_children = session.watcher(lambda: self._children_changed(session))
        self._watch_entry(session)
        self._watch_children(session)

    def tell(self) -> None:
        for callback in list(self.callbacks):
            try:
                callback()
            except Exception:
                log.exception("a watch of %s failed", self.path)

    def _watch_entry(self, session: Session) -> None:
        session.send(Exists(self.path, self._on_entry)).add_done_callback(_taken_note_of)

    def _watch_children(self, session: Session) -> None:
        session.send(GetChildren(self.path, self._on_children)).add_done_callback(_taken_note_of)

    def _entry_changed(self, session: Session) -> None:
        if session is self.session:
            # An entry that was just made has no watch on its children yet.
            self._watch_entry(session)
            self._watch_children(session)
            self.tell()

    def _children_changed(self, session: Session) -> None:
        if session is self.session:
            self._watch_children(session)
            self.tell()


def _taken_note_of(done: asyncio.Future[Any]) -> None:
    """No such entry, or the connection is lost: the watch on the entry, or `connected`, sets this one again."""
    if not done.cancelled():
        done.exception()
