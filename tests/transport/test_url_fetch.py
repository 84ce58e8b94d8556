"""Fetches from a real HTTP server, a TLS server, and servers that close early, send byte by byte or send nothing."""

from __future__ import annotations

import gc
import socket
import ssl
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from signalbox.common.limits import MAX_CONFIG_FILE_BYTES, MAX_FETCHED_DOCUMENT_BYTES
from signalbox.security.tls.contexts import client_context, server_context
from signalbox.security.tls.settings import TlsSettings
from signalbox.transport.url_fetch import (
    EARLIEST_SECONDS,
    FetchFailed,
    UrlRequest,
    fetch,
    start_refresh_thread,
    url_problem,
)
from tests.security.certificates import Authority
from tests.security.issuer import Endpoint, answering
from tests.transport.self_connecting import can_be_bound, dial_themselves


def get(url: str, **more: Any) -> bytes:
    return fetch(UrlRequest(url=url, **{"deadline_s": 5.0, **more}))


def problem(url: str, **more: Any) -> str:
    with pytest.raises(FetchFailed) as caught:
        get(url, **more)
    return str(caught.value)


@contextmanager
def talking(say: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that runs `say` on every connection, in a thread, and keeps the connection open until the end."""
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            try:
                while True:
                    sock, _ = server.accept()
                    with sock:
                        say(sock)
                        ended.wait(30)
            except OSError:
                pass

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/keys"
        ended.set()


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a file.json"
    path.write_bytes(b"{}")
    assert get(path.as_uri()) == b"{}"
    assert "No such file" in problem((tmp_path / "none").as_uri())
    assert "directory" in problem(tmp_path.as_uri())
    path.write_bytes(bytes(MAX_CONFIG_FILE_BYTES + 1))
    assert "too large" in problem(path.as_uri())
    assert "too large" in problem("file:///dev/zero")
    assert "null" in problem("file:///a%00b")


def test_get_and_post() -> None:
    with Endpoint(answering(b"document")).open() as endpoint:
        assert get(endpoint.url + "?a=b") == b"document"
        assert get(endpoint.url, body=b"x=y", headers={"Authorization": "Basic abc"}) == b"document"
        assert endpoint.bodies == [b"x=y"]
        assert endpoint.headers[1]["Authorization"] == "Basic abc"
        endpoint.answer = answering(b"secret", 403)
        with pytest.raises(FetchFailed, match="status 403") as caught:
            get(endpoint.url)
        assert caught.value.status == 403
        assert "secret" not in str(caught.value)
        endpoint.answer = answering(bytes(MAX_FETCHED_DOCUMENT_BYTES + 1))
        assert "more than" in problem(endpoint.url)


def test_chunks_are_read_and_redirects_are_not_followed() -> None:
    def chunks(handler: BaseHTTPRequestHandler) -> None:
        handler.protocol_version = "HTTP/1.1"
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")

    def redirect(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(302)
        handler.send_header("Location", "/elsewhere")
        handler.end_headers()

    with Endpoint(chunks).open() as endpoint:
        assert get(endpoint.url) == b"abcde"
        endpoint.answer = redirect
        assert "status 302" in problem(endpoint.url)
        assert endpoint.asked == 2


def test_https_with_a_checked_certificate() -> None:
    authority = Authority()
    identity = authority.identity("broker")
    context = server_context(
        TlsSettings(keystore_key=identity.key_pem(), keystore_certificate_chain=identity.certificate_pem)
    )
    endpoint = Endpoint(answering(b"keys"))
    endpoint.secure(context)
    with endpoint.open():
        url = endpoint.url.replace("http:", "https:").replace("127.0.0.1", "localhost")
        trusting = client_context(TlsSettings(truststore_certificates=authority.pem))
        assert get(url, tls=lambda: trusting) == b"keys"
        assert "self" in problem(url) or "issuer" in problem(url)
        assert "cannot be reached" in problem(endpoint.url)  # plain text on a TLS port
    with Endpoint(answering(b"x")).open() as plain:
        assert "cannot be reached" in problem(plain.url.replace("http:", "https:"), tls=ssl.create_default_context)


def drip(sock: socket.socket) -> None:
    try:
        for byte in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1000:
            sock.sendall(bytes([byte]))
            time.sleep(0.05)  # the test needs a slow server
    except OSError:
        pass


@pytest.mark.parametrize("say", [lambda sock: None, drip])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_hanging_server_does_not_exceed_the_deadline(say: Callable[[socket.socket], None], scheme: str) -> None:
    with talking(say) as url:
        started = time.monotonic()
        text = problem(url.replace("http", scheme, 1), deadline_s=0.4)
        assert time.monotonic() - started < 30
        assert "did not respond within 0.4 s" in text or (scheme == "https" and say is drip)


@pytest.mark.parametrize(
    "response_bytes",
    [
        b"",
        b"\0" * 100,
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
        b"HTTP/1.1 2" + b"0" * 70_000 + b"\r\n\r\n",
    ],
)
def test_a_server_that_breaks_off_or_talks_nonsense(response_bytes: bytes) -> None:
    def say(sock: socket.socket) -> None:
        sock.recv(1000)
        sock.sendall(response_bytes)
        sock.shutdown(socket.SHUT_RDWR)

    with talking(say) as url:
        assert problem(url)


def test_a_connection_to_itself_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        port = dial_themselves(patched)
        with pytest.raises(FetchFailed, match="socket connected to itself"):
            get(f"http://127.0.0.1:{port}/keys")
    assert can_be_bound(port)


def test_no_server_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert "Connection refused" in problem(f"http://127.0.0.1:{port}/")
    assert "cannot be reached" in problem("http://no-such-host.invalid/")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "scheme"),
        ("ftp://host/x", "scheme"),
        ("/etc/keys", "scheme"),
        ("file://host/x", "no local file"),
        ("file:", "no local file"),
        ("http://", "no host"),
        ("http://h:x/", "no URL"),
        ("http://[::1/", "no URL"),
    ],
)
def test_invalid_urls(url: str, words: str) -> None:
    assert words in str(url_problem(url))
    assert words in problem(url)


def test_secrets_are_not_shown() -> None:
    request = UrlRequest(url="http://h/", deadline_s=1, headers={"Authorization": "Basic abc"}, body=b"password")
    assert "abc" not in repr(request)
    assert "password" not in repr(request)


class Counting:
    """A step at once, then one after each of `waits` (seconds); None ends the thread."""

    def __init__(self, *waits: float | None) -> None:
        self.wake = threading.Event()
        self.worked = threading.Semaphore(0)
        self.at: list[float] = []
        self._waits = list(waits)

    def step(self) -> float | None:
        self.at.append(time.monotonic())
        self.worked.release()
        return self._waits.pop(0) if self._waits else 3600


def thread_of(name: str) -> threading.Thread | None:
    return next((thread for thread in threading.enumerate() if thread.name == name), None)


def test_it_works_at_once_from_time_to_time_and_when_woken() -> None:
    refresher = Counting(0.05, 3600, None)
    start_refresh_thread(refresher, refresher.wake, "refresher-a")
    for _ in range(2):
        assert refresher.worked.acquire(timeout=10)
    assert refresher.at[1] - refresher.at[0] >= 0.05
    refresher.wake.set()
    assert refresher.worked.acquire(timeout=10)
    assert refresher.at[2] - refresher.at[1] >= EARLIEST_SECONDS  # frequent wake-ups do not run it more often
    thread = thread_of("refresher-a")
    if thread is not None:
        thread.join(10)
    assert thread_of("refresher-a") is None


def test_it_ends_with_its_refresher() -> None:
    refresher = Counting()
    start_refresh_thread(refresher, refresher.wake, "refresher-b")
    assert refresher.worked.acquire(timeout=10)
    thread, forgotten = thread_of("refresher-b"), weakref.ref(refresher)
    del refresher
    gc.collect()
    assert thread is not None
    thread.join(10)
    assert not thread.is_alive()
    assert forgotten() is None
