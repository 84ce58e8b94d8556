"""What a participant watches, and what each watched entry looked like when it was last seen.

Rings and ticks only say "look": a watch fires when a look finds another fingerprint, so rings that come twice or
for nothing cost a look and no call.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

from signalbox.metadata.store.sqlite.database import Fingerprint

log = logging.getLogger(__name__)


class Watches:
    """Callbacks by path. The first look at a path only takes its fingerprint."""

    def __init__(self) -> None:
        self._callbacks: dict[str, list[Callable[[], None]]] = {}
        self._seen: dict[str, Fingerprint] = {}

    def add(self, path: str, callback: Callable[[], None]) -> bool:
        """Whether a first look at `path` is needed."""
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
        """Everything watched."""
        return list(self._callbacks)

    def take_for_look(self, paths: Iterable[str]) -> list[str]:
        """The watched ones among `paths`."""
        return [path for path in paths if path in self._callbacks]

    def compare(self, found: Mapping[str, Fingerprint]) -> None:
        """Fire the watches whose entry looks different from last time."""
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
                    log.exception("a watch of %s failed", path)
