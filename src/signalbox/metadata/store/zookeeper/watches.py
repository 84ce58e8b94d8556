"""The port's permanent watches, made from ZooKeeper's one-shot watches.

A watched path has two of ZooKeeper's watches: on the entry (created, written, deleted) and on the set of its children.
When one fires it is first set again, then the callbacks are called: ZooKeeper serves the requests of a session in
order, so a read by the callback comes after the new watch, and no change in between is missed. Events may be lost with
a connection: when it is back every watch is set again and its callbacks are called once.
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
    """Callbacks by path of the ensemble. The watches are set in the current session, if there is one."""

    def __init__(self) -> None:
        self._watched: dict[str, _Watched] = {}
        self._session: Session | None = None

    def add(self, path: str, callback: Callable[[], None]) -> None:
        """Add a callback."""
        watched = self._watched.get(path)
        if watched is None:
            watched = self._watched[path] = _Watched(path)
            if self._session is not None:
                watched.set_in(self._session)
        watched.callbacks.append(callback)

    def remove(self, path: str, callback: Callable[[], None]) -> None:
        """Remove a callback. ZooKeeper's own watch stays until it fires."""
        watched = self._watched.get(path)
        if watched is not None and callback in watched.callbacks:
            watched.callbacks.remove(callback)
            if not watched.callbacks:
                watched.session = None
                del self._watched[path]

    def use(self, session: Session | None) -> None:
        """Set the watches in this ZooKeeper session from now on; None: they are not set anywhere."""
        self._session = session
        for watched in list(self._watched.values()):
            watched.session = None
            if session is not None:
                watched.set_in(session)

    def connected(self, session: Session) -> None:
        """The session is connected (again): set all watches again and call all callbacks, since events may be lost."""
        if session is self._session:
            self.use(session)
            for watched in list(self._watched.values()):
                watched.notify()


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
            # One object each for the whole session: kazoo calls an object that was registered twice only once.
            self._on_entry = session.watcher(lambda: self._entry_changed(session))
            self._on_children = session.watcher(lambda: self._children_changed(session))
        self._watch_entry(session)
        self._watch_children(session)

    def notify(self) -> None:
        for callback in list(self.callbacks):
            try:
                callback()
            except Exception:
                log.exception("Watch failed (path=%s)", self.path)

    def _watch_entry(self, session: Session) -> None:
        session.send(Exists(self.path, self._on_entry)).add_done_callback(_ignore_error)

    def _watch_children(self, session: Session) -> None:
        session.send(GetChildren(self.path, self._on_children)).add_done_callback(_ignore_error)

    def _entry_changed(self, session: Session) -> None:
        if session is self.session:
            # An entry that was just created has no watch on its children yet.
            self._watch_entry(session)
            self._watch_children(session)
            self.notify()

    def _children_changed(self, session: Session) -> None:
        if session is self.session:
            self._watch_children(session)
            self.notify()


def _ignore_error(done: asyncio.Future[Any]) -> None:
    """Ignore the error: if the entry does not exist the watch on the entry sets this one again, after a lost connection
    `connected` does."""
    if not done.cancelled():
        done.exception()
