"""Messages between the broker and its cleaner process: a length, a pickled object, and open files beside it.

Both ends are this version of this program, connected by a socket pair that no other process has.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from struct import Struct
from typing import Any

_LENGTH = Struct(">I")
OTHER_VERSION_STATUS = 3  # the exit status of a process that is not of the broker's version
MOST_FILES = 64  # of a message: those of a group of segments and of the new one


def send(connection: socket.socket, message: object, files: Sequence[int] = ()) -> None:
    """Sends a message. OSError if the other end is gone."""
    import pickle  # 0.4 MiB, which a broker that has cleaned nothing does without

    data = pickle.dumps(message)
    head = _LENGTH.pack(len(data))
    if files:
        socket.send_fds(connection, [head], list(files))
    else:
        connection.sendall(head)
    connection.sendall(data)


def receive(connection: socket.socket) -> tuple[Any, list[int]]:
    """The next message and its files, which the caller closes. EOFError if the other end is gone."""
    import pickle

    head, files, _, _ = socket.recv_fds(connection, _LENGTH.size, MOST_FILES)
    head += _exactly(connection, _LENGTH.size - len(head))
    return pickle.loads(_exactly(connection, _LENGTH.unpack(head)[0])), list(files)


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)
