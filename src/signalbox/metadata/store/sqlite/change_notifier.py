"""Notifications of commits between participants: one datagram socket each, in a folder beside the file.

A notification carries the changed paths, so that a participant without watches on them does nothing; too many paths
become one `*`. Notifications can be lost (a full queue, a socket that is being closed, no free descriptor to list the
sockets): polling `PRAGMA data_version` every 250 ms finds those commits. Sockets are addressed through the folder's
descriptor, since a socket's path has at most 108 bytes.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import socket
import uuid
from collections.abc import Iterable
from pathlib import Path

PREFIX = "bell-"
EVERYTHING = "*"
_MAX_NOTIFICATION_BYTES = 16_384
log = logging.getLogger("signalbox.metadata.store")

_GONE = (errno.ECONNREFUSED, errno.ENOENT, errno.ENOTSOCK)


class ChangeNotifier:
    """Receives notifications at a participant's socket (`fileno` to wait, `receive` to read); `notify` sends them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._folder_fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._name = f"{PREFIX}{uuid.uuid4().hex}"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._socket.bind(self._address(self._name))

    def fileno(self) -> int:
        return self._socket.fileno()

    def receive(self) -> set[str]:
        """The paths of all notifications since the last call; may contain `EVERYTHING`."""
        paths: set[str] = set()
        with contextlib.suppress(BlockingIOError):
            while True:
                paths.update(self._socket.recv(_MAX_NOTIFICATION_BYTES + 1).decode().split("\n"))
        return paths

    def notify(self, paths: Iterable[str]) -> None:
        """Notify every other participant that `paths` changed. Never waits, never fails: the commit is done already."""
        message = "\n".join(paths).encode()
        if len(message) > _MAX_NOTIFICATION_BYTES:
            message = EVERYTHING.encode()
        try:
            for name in os.listdir(self._folder_fd):
                if name.startswith(PREFIX) and name != self._name:
                    self._notify_one(name, message)
        except OSError as error:
            log.warning("Commit notification failed, other brokers fall back to polling: %s", error)

    def close(self) -> None:
        """Close the socket and remove its name."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._name, dir_fd=self._folder_fd)
        self.abandon()

    def abandon(self) -> None:
        """Close the descriptors and leave the socket's name, like a killed process."""
        self._socket.close()
        if self._folder_fd >= 0:
            os.close(self._folder_fd)
            self._folder_fd = -1

    def _notify_one(self, name: str, message: bytes) -> None:
        try:
            self._socket.sendto(message, self._address(name))
        except BlockingIOError:
            return  # its queue is full: it has notifications to read, and polls
        except OSError as error:
            if error.errno not in _GONE:
                raise
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=self._folder_fd)

    def _address(self, name: str) -> str:
        return f"/proc/self/fd/{self._folder_fd}/{name}"
