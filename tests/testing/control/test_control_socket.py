"""Requests and responses over the socket in a folder."""

from __future__ import annotations

import socket
import stat
from pathlib import Path
from typing import Any

import pytest

from signalbox.testing.control import control_socket
from signalbox.testing.control.control_socket import SOCKET_NAME, ControlSocket, NoControl, ask_control

pytestmark = pytest.mark.spec("R7")


def echo(request: Any) -> dict[str, Any]:
    return {"request": request}


def connect(folder: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    with control_socket._short_path(folder / SOCKET_NAME) as path:
        connection.connect(path)
    connection.settimeout(60)
    return connection


def test_each_request_has_its_response_also_in_a_folder_with_a_long_path(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 50)
    folder.mkdir()
    with ControlSocket(folder, echo):
        assert stat.S_IMODE((folder / SOCKET_NAME).stat().st_mode) == 0o600
        assert [ask_control(folder, {"n": n})["request"] for n in range(3)] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert not (folder / SOCKET_NAME).exists()


def test_without_a_cluster_the_folder_is_named(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(NoControl, match=f"no cluster of `signalbox up --drill` runs in {folder}"):
            ask_control(folder, {})


def test_the_socket_of_a_killed_process_is_replaced(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left, control_socket._short_path(tmp_path / SOCKET_NAME) as path:
        left.bind(path)
    with pytest.raises(NoControl):
        ask_control(tmp_path, {})
    with ControlSocket(tmp_path, echo):
        assert ask_control(tmp_path, {}) == {"request": {}}


def test_bytes_that_are_no_request_do_not_end_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_socket._Handler, "timeout", 0.1)
    with ControlSocket(tmp_path, echo):
        with connect(tmp_path) as silent:
            assert silent.recv(1) == b""
        with connect(tmp_path) as wrong:
            wrong.sendall(b"\xff{\n")
            assert b"the request is not JSON" in wrong.recv(1_000)
        assert ask_control(tmp_path, {}) == {"request": {}}


def test_a_cluster_that_ends_meanwhile_is_named(tmp_path: Path) -> None:
    def broken(request: Any) -> dict[str, Any]:
        raise OSError("the process ends")

    with ControlSocket(tmp_path, broken), pytest.raises(NoControl, match="has ended"):
        ask_control(tmp_path, {})
