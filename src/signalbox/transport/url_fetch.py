"""Fetches one small document from a URL, in a thread that may block: `file://`, `http://`, `https://`, with a deadline.

Never call it in an event loop. The deadline is for the whole exchange, so that a server that sends one byte a second
cannot block the thread: when it passes, the socket is shut down, which ends the pending call. Redirects are not
followed and no proxy is used: a broker trusts the configured address only.

A document that changes is fetched by a thread of its own (`start_refresh_thread`): it fetches, sleeps until the next
time or until it is woken, and fetches again. It holds no reference to its refresher while it sleeps; otherwise the
refresher could never be freed. The thread ends when `step` of its refresher returns None, or when the refresher is
freed. It is a daemon: a fetch that hangs does not keep the process alive.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import SplitResult, unquote, urlsplit

from signalbox.common.limits import MAX_FETCHED_DOCUMENT_BYTES
from signalbox.common.small_file import read_small_file
from signalbox.transport.socket_address import reject_self_connection

SCHEMES = ("file", "http", "https")
_OK = 200


class FetchFailed(Exception):
    """Why there is no document; the text contains no secret (no header, no body, no query)."""

    def __init__(self, problem: str, status: int | None = None) -> None:
        super().__init__(problem)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlRequest:
    """With a `body` it is a POST. `tls` returns the context of an https URL and is called when it is first needed
    (reading the system's certificate authorities takes a while). Times in seconds."""

    url: str
    deadline_s: float
    connect_timeout_s: float = 10.0
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
    tls: Callable[[], ssl.SSLContext] = ssl.create_default_context


def url_problem(url: str) -> str | None:
    """Why this cannot be the address of a document, None if it can."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        return f"is no URL: {error}"
    if parts.scheme not in SCHEMES:
        return f"is no URL of a scheme that is read ({', '.join(SCHEMES)})"
    if parts.scheme == "file":
        return None if parts.netloc in ("", "localhost") and parts.path else "names no local file"
    return None if parts.hostname else "names no host"


def fetch(request: UrlRequest) -> bytes:
    """The document; FetchFailed."""
    problem = url_problem(request.url)
    if problem is not None:
        raise FetchFailed(problem)
    parts = urlsplit(request.url)
    if parts.scheme == "file":
        return _read_file(Path(unquote(parts.path)))
    return _Exchange(request, parts).run()


def _read_file(path: Path) -> bytes:
    try:
        return read_small_file(path)
    except OSError as error:
        raise FetchFailed(f"cannot be read: {error.strerror}") from None


class _Exchange:
    """One request on a connection of its own."""

    def __init__(self, request: UrlRequest, parts: SplitResult) -> None:
        self._request = request
        self._parts = parts
        self._socket: socket.socket | None = None
        self._timed_out = False

    def run(self) -> bytes:
        from http.client import HTTPException  # imported here: a broker that fetches nothing does not load it

        timer = threading.Timer(self._request.deadline_s, self._abort)
        timer.daemon = True
        timer.start()
        try:
            return self._exchange()
        except FetchFailed:
            raise
        except (OSError, ValueError, HTTPException) as error:
            if self._timed_out or isinstance(error, TimeoutError):
                raise FetchFailed(f"did not respond within {self._request.deadline_s:g} s") from None
            verify_message = error.verify_message if isinstance(error, ssl.SSLCertVerificationError) else None
            text = verify_message or getattr(error, "strerror", None) or type(error).__name__
            raise FetchFailed(f"cannot be reached: {text}") from None
        finally:
            timer.cancel()
            if self._socket is not None:
                self._socket.close()

    def _exchange(self) -> bytes:
        from http.client import HTTPConnection

        host, secure = str(self._parts.hostname), self._parts.scheme == "https"
        port = self._parts.port or (443 if secure else 80)
        connection = HTTPConnection(host, port)
        connection.sock = self._connect(host, port, secure)
        target = (self._parts.path or "/") + (f"?{self._parts.query}" if self._parts.query else "")
        headers = {"Accept": "application/json", "Connection": "close", **self._request.headers}
        connection.request("GET" if self._request.body is None else "POST", target, self._request.body, headers)
        response = connection.getresponse()
        data = response.read(MAX_FETCHED_DOCUMENT_BYTES + 1)
        if response.status != _OK:
            raise FetchFailed(f"returned status {response.status}", response.status)
        if len(data) > MAX_FETCHED_DOCUMENT_BYTES:
            raise FetchFailed(f"returned more than {MAX_FETCHED_DOCUMENT_BYTES} bytes")
        if response.length:
            raise FetchFailed("closed the connection before the end of its response")
        return data

    def _connect(self, host: str, port: int, secure: bool) -> socket.socket:
        request = self._request
        timeout_s = min(request.connect_timeout_s, request.deadline_s)
        self._socket = plain = socket.create_connection((host, port), timeout_s)
        reject_self_connection(plain)
        plain.settimeout(request.deadline_s)
        if self._timed_out:
            raise TimeoutError
        if not secure:
            return plain
        wrapped = request.tls().wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
        self._socket = wrapped  # the plain socket is detached now: the deadline must shut down this one
        wrapped.do_handshake()
        return wrapped

    def _abort(self) -> None:
        self._timed_out = True
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


EARLIEST_SECONDS = 1.0
"""The pause after a step is not shortened below this, however often the thread is woken."""


class RefreshThread(Protocol):
    def step(self) -> float | None:
        """Work, in the thread; returns the seconds until the next time, None to end. Must not raise."""
        ...


def start_refresh_thread(refresher: RefreshThread, wake: threading.Event, name: str) -> None:
    """Begin at once. `wake` is the refresher's own event: set it for an early step, or to end the thread."""
    threading.Thread(target=_run, args=(weakref.ref(refresher), wake), name=name, daemon=True).start()
    weakref.finalize(refresher, wake.set)


def _run(refresher: weakref.ref[RefreshThread], wake: threading.Event) -> None:
    while True:
        target = refresher()
        wait_s = target.step() if target is not None else None
        if wait_s is None:
            return
        del target
        time.sleep(min(wait_s, EARLIEST_SECONDS))
        wake.wait(max(0.0, wait_s - EARLIEST_SECONDS))
        wake.clear()
