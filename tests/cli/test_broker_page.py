"""A metrics page as commands read it; and pages that are not metrics pages."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
import typer

from signalbox.cli import broker_page
from signalbox.cli.broker_page import BrokerPage, page_of
from tests.transport.self_connecting import can_be_bound, dial_themselves

_PAGE = """# TYPE signalbox_network_listener_info gauge
signalbox_network_listener_info{listener="CLIENT",plane="data",forced="false"} 1.0
# TYPE things gauge
things{kind="a",of="x"} 2.0
things{kind="a",of="y"} 3.0
things{kind="b",of="x"} 7.0
"""


def test_samples_are_added_up_by_labels() -> None:
    page = BrokerPage("b", _PAGE)
    assert page.listeners == [{"listener": "CLIENT", "plane": "data", "forced": "false"}]
    assert page.read("things", kind="a") == 5
    assert page.read("things") == 12
    assert page.read("nothing") == 0
    assert [value for labels, value in page.all("things") if labels["of"] == "x"] == [2, 7]


def test_a_page_that_is_not_a_brokers_ends_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        BrokerPage("host:1", "up 1.0\n")
    assert "host:1 is not the metrics page of a broker" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["127.0.0.1:{}", "http://127.0.0.1:{}/metrics", "http://127.0.0.1:{}"])
def test_a_refused_connection(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with pytest.raises(typer.Exit):
        page_of(form.format(port))
    message = capsys.readouterr().err
    assert "has no metrics page: Connection refused (check signalbox.metrics.http.port of the broker)" in message


def test_a_connection_to_itself_is_none(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with monkeypatch.context() as patched:
        port = dial_themselves(patched)
        with pytest.raises(typer.Exit):
            page_of(f"127.0.0.1:{port}")
    assert "the socket connected to itself" in capsys.readouterr().err
    assert can_be_bound(port)


@pytest.mark.parametrize("address", ["host:1:2", "no host:1", "[::1"])
def test_what_is_no_address(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        page_of(address)
    assert capsys.readouterr().err.startswith(f"{address} has no metrics page: ")


@contextmanager
def served(*pieces: bytes, endless: bytes = b"") -> Iterator[str]:
    """The address of a server that sends these pieces to its first client, and `endless` until the client leaves."""

    def serve() -> None:
        client, _ = server.accept()
        with client, suppress(OSError):
            client.recv(65_536)
            for piece in pieces:
                client.sendall(piece)
            while endless and not stopped.wait(0.02 if len(endless) == 1 else 0):
                client.sendall(endless)

    stopped = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}"
        finally:
            stopped.set()
            thread.join()


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_a_page_that_comes_by_bytes_has_a_deadline(
    start: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(broker_page, "_TIMEOUT_S", 0.5)
    with served(start, endless=b"x") as address, pytest.raises(typer.Exit):
        page_of(address)
    assert "has no metrics page: the page did not end within 0.5 s" in capsys.readouterr().err


def test_a_page_without_an_end_has_a_limit(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(broker_page, "_MAX_BYTES", 1_000_000)
    with served(b"HTTP/1.1 200 OK\r\n\r\n", endless=b"a 1\n" * 10_000) as address, pytest.raises(typer.Exit):
        page_of(address)
    assert "the page has more than 1,000,000 bytes" in capsys.readouterr().err


def test_redirects_are_not_followed(capsys: pytest.CaptureFixture[str]) -> None:
    answer = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/metrics\r\nContent-Length: 0\r\n\r\n"
    with served(answer) as address, pytest.raises(typer.Exit):
        page_of(address)
    assert "it leads to another page" in capsys.readouterr().err


@pytest.mark.parametrize("page", ['a{b="c} x\n', "a{ 1\n", "a b c d\n", "# TYPE a\n{\n", 'a{x="\\', "a 1 2 3 4\n"])
def test_a_malformed_page_is_one_sentence(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        BrokerPage("host:1", page)
    assert ended.value.exit_code == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("host:1 is not the metrics page of a broker: ")


def test_incomplete_listeners_and_numbers_that_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert BrokerPage("b", f'{_PAGE}things{{kind="c"}} NaN\nthings{{kind="c"}} +Inf\n').read("things") == 12
    with pytest.raises(typer.Exit):
        BrokerPage("b", "signalbox_network_listener_info 1.0\n")
    assert "it has no listener metrics" in capsys.readouterr().err
