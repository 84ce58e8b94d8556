"""One request and one response, each a line of JSON, over a Unix socket in the folder of the cluster.

Only the user who started the cluster can connect. The socket is reached through the folder's descriptor, since the path
of a Unix socket may have 107 bytes only.
"""

from __future__ import annotations

import json
import os
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SOCKET_NAME = "drill.sock"
_IDLE_TIMEOUT_S = 10.0
_REPLY_TIMEOUT_S = 120.0
_LONGEST_REQUEST_BYTES = 1 << 20

Execute = Callable[[Any], dict[str, Any]]


class NoControl(RuntimeError):
    """No cluster with the control socket runs in the folder."""


class ControlSocket:
    """`with ControlSocket(folder, execute):` answers requests in a thread of its own, one after the other."""

    def __init__(self, folder: Path, execute: Execute) -> None:
        self._file = folder / SOCKET_NAME
        self._file.unlink(missing_ok=True)  # of a process that was killed: the folder belongs to this one now
        with _short_path(self._file) as path, _only_for_owner():
            self._server = _Server(path, execute)
        self._thread = threading.Thread(target=self._server.serve_forever, name="drill-control", daemon=True)

    def __enter__(self) -> ControlSocket:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._file.unlink(missing_ok=True)


def ask_control(folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    """The response to a request. NoControl; OSError, TimeoutError."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_REPLY_TIMEOUT_S)
        try:
            with _short_path(folder / SOCKET_NAME) as path:
                connection.connect(path)
        except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
            raise NoControl(f"no cluster of `signalbox up --drill` runs in {folder}") from None
        connection.sendall(json.dumps(request).encode() + b"\n")
        with connection.makefile("rb") as stream:
            line = stream.readline()
    if not line:
        raise NoControl(f"the cluster in {folder} has ended")
    response: dict[str, Any] = json.loads(line)
    return response


class _Handler(socketserver.StreamRequestHandler):
    timeout = _IDLE_TIMEOUT_S  # one that sends nothing does not block the others for ever
    server: _Server

    def handle(self) -> None:
        try:
            line = self.rfile.readline(_LONGEST_REQUEST_BYTES)
            response = self.server.execute(json.loads(line))
        except TimeoutError:
            return
        except ValueError as error:
            response = {"error": f"the request is not JSON: {error}"}
        self.wfile.write(json.dumps(response).encode() + b"\n")


class _Server(socketserver.UnixStreamServer):
    def __init__(self, path: str, execute: Execute) -> None:
        super().__init__(path, _Handler)
        self.execute = execute

    def handle_error(self, request: Any, client_address: Any) -> None:
        """The other side has gone: nothing to report."""


@contextmanager
def _only_for_owner() -> Iterator[None]:
    former = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(former)


@contextmanager
def _short_path(file: Path) -> Iterator[str]:
    descriptor = os.open(file.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{file.name}"
    finally:
        os.close(descriptor)
