"""A TCP proxy in front of a store: passes everything on, answers 503 to requests, or never answers.

Clients sign the address that they connect to, so the proxy changes nothing in a request. It is a process of its own:
some functions of delta-rs keep the interpreter's lock while they wait for a response.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_BODY = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
_SLOW_DOWN = b"HTTP/1.1 503 Slow Down\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(_BODY), _BODY)
_CHUNK = 65536
_WRITES = (b"PUT ", b"POST ")


class _Proxy:
    """`failing`: the number of requests that are still to be answered with 503; `failing_puts`: whether those that
    write are; `silent`: whether none is answered."""

    def __init__(self, upstream_port: int) -> None:
        self.rejected = 0
        self.failing = 0
        self.failing_puts = False
        self.silent = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self._upstream_port = upstream_port
        self._lock = threading.Lock()

    def serve(self) -> None:
        """Accepts connections until the process ends."""
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self._serve_one, args=(client,), daemon=True).start()

    def _serve_one(self, client: socket.socket) -> None:
        with (
            client,
            suppress(OSError),
            socket.create_connection(("127.0.0.1", self._upstream_port)) as store,
        ):
            threading.Thread(target=_copy, args=(store, client), daemon=True).start()
            while data := client.recv(_CHUNK):
                if self._is_rejected(data):
                    self._reject(client)
                    return
                store.sendall(data)

    def _is_rejected(self, data: bytes) -> bool:
        """A request begins with a method; the rest of one passes."""
        if not data.startswith((b"GET ", b"HEAD ", b"DELETE ", *_WRITES)):
            return False
        with self._lock:
            rejected = self.silent or self.failing > 0 or (self.failing_puts and data.startswith(_WRITES))
            self.failing -= self.failing > 0
            self.rejected += rejected
        return rejected

    def _reject(self, client: socket.socket) -> None:
        if not self.silent:
            client.sendall(_SLOW_DOWN)
            client.settimeout(0.2)  # closing before the request is read would reset the connection
        while client.recv(_CHUNK):
            continue


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)


class FlakyStore:
    """The running proxy."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.address = f"http://127.0.0.1:{self.set()['port']}"

    def set(self, *, failing: int = 0, failing_puts: bool = False, silent: bool = False) -> dict[str, int]:
        """What happens to requests from now on; without arguments all pass. Returns the counts until now."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        command = {"failing": failing, "failing_puts": failing_puts, "silent": silent}
        print(json.dumps(command), file=self._process.stdin, flush=True)
        counts: dict[str, int] = json.loads(self._process.stdout.readline())
        return counts


@contextmanager
def flaky_store(upstream_port: int) -> Iterator[FlakyStore]:
    """A proxy in front of the store at a local port."""
    command = [sys.executable, "-m", "tests.pipeline.object_store.flaky_store", str(upstream_port)]
    with subprocess.Popen(
        command, cwd=Path(__file__).parents[3], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield FlakyStore(process)
        finally:
            process.kill()


def main(upstream_port: int) -> None:
    """Serves; reads a command from each line of standard input and answers with the counts."""
    proxy = _Proxy(upstream_port)
    threading.Thread(target=proxy.serve, daemon=True).start()
    for line in sys.stdin:
        for name, value in json.loads(line).items():
            setattr(proxy, name, value)
        print(json.dumps({"port": proxy.listener.getsockname()[1], "rejected": proxy.rejected}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
