"""The watches of a participant, and the last fingerprint of each watched entry.

Notifications and ticks only cause a comparison: a watch fires when the fingerprint has changed, so a duplicate or
needless notification costs one comparison and no call.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

from signalbox.metadata.store.sqlite.database import Fingerprint

log = logging.getLogger(__name__)


class Watches:
    """Callbacks by path. The first comparison of a path only stores its fingerprint."""

    def __init__(self) -> None:
        self._callbacks: dict[str, list[Callable[[], None]]] = {}
        self._seen: dict[str, Fingerprint] = {}

    def add(self, path: str, callback: Callable[[], None]) -> bool:
        """Add a watch; returns whether the first fingerprint of `path` is needed."""
        is_new = path not in self._callbacks
        self._callbacks.setdefault(path, []).append(callback)
        return is_new

    def remove(self, path: str, callback: Callable[[], None]) -> None:
        """Cancel one watch."""
        callbacks = self._callbacks.get(path, [])
        if callback in callbacks:
            callbacks.remove(callback)
        if not callbacks:
            self._callbacks.pop(path, None)
            self._seen.pop(path, None)

    def paths(self) -> list[str]:
        """All watched paths."""
        return list(self._callbacks)

    def take_for_look(self, paths: Iterable[str]) -> list[str]:
        """The watched paths among `paths`."""
        return [path for path in paths if path in self._callbacks]

    def compare(self, found: Mapping[str, Fingerprint]) -> None:
        """Fire the watches whose entry has another fingerprint than last time."""
        for path, fingerprint in found.items():
            if path not in self._callbacks:
                continue
            before = self._seen.get(path)
            self._seen[path] = fingerprint
            if before is None or before == fingerprint:
                continue
            for callback in list(self._callbacks.get(path, ())):
                try:
                    callback()
                except Exception:
                    log.exception("Watch failed (path=%s)", path)
