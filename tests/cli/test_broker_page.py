"""A metrics page as commands read it; and pages that are not metrics pages."""

from __future__ import annotations

import socket

import pytest
import typer

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
