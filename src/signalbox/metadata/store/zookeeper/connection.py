"""kazoo's connection with the broker's own TLS context and login.

kazoo can make TLS contexts and log in itself. Neither is used: the TLS context is made like all others of this broker,
from Kafka's keys (PKCS12, cipher suites, versions), and the library that kazoo uses for logins is not maintained any
more (decision 0018). The last error is stored: kazoo retries without reporting it. One attempt to connect is bounded:
kazoo waits the whole session timeout for a response, and a starting ZooKeeper server (seen with 3.8.0) now and then
accepts a connection and never reads from it.

A queued request wakes kazoo's thread by a pipe: one byte per request, written from the event loop. kazoo uses a pair of
sockets, in which a byte takes most of a kilobyte: after some 280 requests without a connection the next one blocks its
sender, here the event loop, until ZooKeeper is back. A pipe holds as many bytes as its size, and a write to a full pipe
fails instead of blocking.

At DEBUG kazoo logs complete requests and responses: SCRAM credentials, digest logins, sensitive configs. A user who may
alter a broker's loggers could have them logged, so only the kind and the path of each request are left.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import socket
import ssl
from collections.abc import Mapping
from typing import Any

from kazoo.exceptions import AuthFailedError
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.connection import ConnectionHandler
from kazoo.protocol.serialization import SASL, Connect

from signalbox.metadata.store.zookeeper.access import DigestLogin
from signalbox.security.sasl.digest_md5 import DigestMd5Client, DigestRejected
from signalbox.transport.socket_address import reject_self_connection

# The service name that ZooKeeper uses in a digest, independent of the server's name (its SecurityUtils).
_SERVICE_URI = "zookeeper/zk-sasl-md5"
_PIPE_SIZE_BYTES = 1 << 20  # Linux' limit for an unprivileged process; as many requests can wait
_LOGGED = (str, int, float, type(None), BaseException)  # types of arguments in which kazoo logs no payload


class Sockets(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo has no types
    """kazoo's threads and sockets, with TLS if there is a context. `trouble` is the last error. `attempt_s` bounds one
    attempt to connect: the TCP connection and TLS handshake, and the response to the session."""

    def __init__(self, tls: ssl.SSLContext | None, attempt_s: float) -> None:
        super().__init__()
        self._tls = tls
        self.attempt_s = attempt_s
        self.trouble = ""

    def create_socket_pair(self) -> tuple[PipeEnd, PipeEnd]:
        return wake_pipe()

    def create_connection(
        self, address: tuple[str, int], timeout: float | None = None, hostname: str | None = None, **_kazoos_tls: Any
    ) -> socket.socket:
        try:
            sock = socket.create_connection(address, self.attempt_s)
            try:
                reject_self_connection(sock)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return sock if self._tls is None else self._tls.wrap_socket(sock, server_hostname=hostname)
            except BaseException:
                sock.close()
                raise
        except OSError as error:
            self.trouble = f"{address[0]}:{address[1]}: {error}"
            raise

    def select(self, reads: Any, writes: Any, errors: Any, timeout: float | None = None) -> Any:
        """Like kazoo's, but data that TLS has decrypted already counts as readable: it does not show at the socket."""
        ready = [each for each in reads if isinstance(each, ssl.SSLSocket) and each.pending()]
        if not ready:
            return super().select(reads, writes, errors, timeout)
        readable, writable, faulty = super().select([each for each in reads if each not in ready], writes, errors, 0)
        return ready + list(readable), writable, faulty


class Connection(ConnectionHandler):  # type: ignore[misc]
    """kazoo's connection with bounded attempts, and a login by DIGEST-MD5 before any other request if there is one."""

    def __init__(self, client: Any, retry_sleeper: Any, logger: Any, login: DigestLogin | None) -> None:
        # Options that are not None: kazoo calls `_authenticate_with_sasl`.
        super().__init__(client, retry_sleeper, logger, sasl_options=None if login is None else {})
        self._login = login

    def _invoke(self, timeout: float, request: Any, xid: int | None = None) -> Any:
        bound = min(timeout, self.handler.attempt_s) if isinstance(request, Connect) else timeout
        return super()._invoke(bound, request, xid)

    def _authenticate_with_sasl(self, host: str, timeout: float) -> None:
        login = self._login
        assert login is not None  # kazoo calls this with options only
        digest = DigestMd5Client(login.username, login.password, _SERVICE_URI)
        word, xid = b"", 0
        while not digest.complete:
            xid += 1
            self._submit(SASL(word), timeout, xid)
            header, body, offset = self._read_header(timeout)
            if header.err:
                raise self._rejected(login, f"it answers {header.err}")
            challenge, _ = SASL.deserialize(body, offset)
            if not challenge:
                raise self._rejected(login, "it does not know SASL")
            try:
                word = digest.respond(challenge)
            except DigestRejected as error:
                raise self._rejected(login, str(error)) from error

    def _rejected(self, login: DigestLogin, why: str) -> Exception:
        trouble = self.handler.trouble = f"the login of {login.username!r} at ZooKeeper failed: {why}"
        rejected: Exception = AuthFailedError(trouble)
        return rejected


def wake_pipe() -> tuple[PipeEnd, PipeEnd]:
    """The read end and the write end."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    os.set_blocking(writing, False)
    with contextlib.suppress(PermissionError):  # the user's limit for all pipes is reached: 64 KiB then
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, _PIPE_SIZE_BYTES)
    return PipeEnd(reading), PipeEnd(writing)


class PipeEnd:
    """One end of the pipe, with the methods of a socket that kazoo calls."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        """The descriptor, for select."""
        return self._descriptor

    def send(self, data: bytes) -> int:
        """Write to the pipe; BlockingIOError when it is full."""
        return os.write(self._descriptor, data)

    def recv(self, size_bytes: int) -> bytes:
        """Read from the pipe; blocks until there is a byte."""
        return os.read(self._descriptor, size_bytes)

    def close(self) -> None:
        """Close this end; does nothing the second time."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def hide_payloads(record: logging.LogRecord) -> bool:
    """A filter for kazoo's logger: it accepts every message and replaces requests and responses in it."""
    if record.args and not isinstance(record.args, Mapping):
        record.args = tuple(each if isinstance(each, _LOGGED) else _named(each) for each in record.args)
    return True


def _named(hidden: Any) -> str:
    path = getattr(hidden, "path", None)
    kind = type(hidden).__name__
    return f"{kind} {path}" if isinstance(path, str) else kind
