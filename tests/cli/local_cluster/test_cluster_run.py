"""The cluster of `signalbox up`: until Ctrl-C, and with a message for each broker that ends on its own."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from signalbox.cli.main import app
from signalbox.testing.process_cluster import ProcessCluster
from tests.cli.ctrl_c import enable_ctrl_c

UP = [sys.executable, "-c", "from signalbox.cli.main import run; run()", "up", "--port", "0"]


def start(folder: Path, brokers: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*UP, "--brokers", str(brokers), "--data", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "COLUMNS": "200", "PYTHONUNBUFFERED": "1"},
        preexec_fn=enable_ctrl_c,
    )


def until(process: subprocess.Popen[str], text: str) -> list[str]:
    """The output up to the line that contains `text`."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if text in line:
            return lines
    raise AssertionError("".join(lines))


def test_up_and_down(tmp_path: Path) -> None:
    process = start(tmp_path, 1)
    output = until(process, "bootstrap.servers=")
    assert re.search(r"bootstrap.servers=127.0.0.1:\d+", output[-1])
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "stopped" in rest


def test_brokers_of_the_folder_that_are_not_started_are_named(tmp_path: Path) -> None:
    (tmp_path / "broker-2" / "data").mkdir(parents=True)
    (tmp_path / "broker-3" / "data").mkdir(parents=True)
    running = start(tmp_path, 1)
    lines = until(running, "bootstrap.servers=")
    assert any("has broker 2 and 3, too, which this command does not start" in line for line in lines)
    running.send_signal(signal.SIGINT)
    running.communicate()
    assert running.returncode == 0


def test_whichever_broker_ends_is_named_at_once(tmp_path: Path) -> None:
    process = start(tmp_path, 2)
    output = until(process, "bootstrap.servers=")
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in output if "│" in line]
    pids = {row[0]: int(row[-1]) for row in rows}
    os.kill(pids["2"], signal.SIGKILL)
    assert "code -9" in until(process, "broker 2 ended")[-1]
    os.kill(pids["1"], signal.SIGKILL)
    until(process, "broker 1 ended")
    process.communicate(timeout=30)
    assert process.returncode == 1


def test_wrong_overrides_and_clusters_that_cannot_start(tmp_path: Path) -> None:
    run = CliRunner()
    assert run.invoke(app, ["up", "--data", str(tmp_path), "--override", "nonsense"]).exit_code == 2
    result = run.invoke(
        app, ["up", "--data", str(tmp_path), "--brokers", "1", "--port", "0", "--override", "num.partitions=many"]
    )
    assert result.exit_code == 1
    assert "'many' is not a whole number" in result.output


def test_an_unknown_key_of_an_override_is_a_warning(tmp_path: Path) -> None:
    at = ["up", "--data", str(tmp_path), "--brokers", "1", "--port", "0", "--override", "num.partitions=many"]
    result = CliRunner().invoke(app, [*at, "--override", "num.partition=3"])
    assert "warning: --override: num.partition is not a known key (did you mean num.partitions?)\n" in result.stderr
    assert (tmp_path / "broker-1" / "broker.log").stat().st_mode & 0o777 == 0o600


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(app, ["up", "--data", str(tmp_path / "file" / "below"), "--port", "0"])
    assert result.exit_code == 1
    assert result.output.count("\n") == 1
    assert "cannot be written: Not a directory" in result.output


@pytest.mark.parametrize(
    ("name", "detach"),
    [
        ("up.pid", []),
        ("up.log", ["--detach"]),
    ],
)
def test_links_in_the_folder_are_not_written_through(name: str, detach: list[str], tmp_path: Path) -> None:
    other, folder = tmp_path / "other", tmp_path / "cluster"
    other.write_text("mine")
    folder.mkdir()
    (folder / name).symlink_to(other)
    result = CliRunner().invoke(app, ["up", "--data", str(folder), "--port", "0", *detach])
    assert (result.exit_code, result.stderr) == (
        1,
        f"{folder / name} cannot be written: Too many levels of symbolic links\n",
    )
    assert other.read_text() == "mine"


def test_a_detached_cluster_whose_log_cannot_be_written_is_not_started(tmp_path: Path) -> None:
    (tmp_path / "up.log").mkdir()
    result = CliRunner().invoke(app, ["up", "--data", str(tmp_path), "--port", "0", "--detach"])
    assert (result.exit_code, result.stderr) == (1, f"{tmp_path}/up.log cannot be written: Is a directory\n")


def test_a_folder_of_another_user_or_with_a_name_that_cannot_be_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = CliRunner().invoke(app, ["up", "--data", str(tmp_path / "a\nnode.id=7"), "--port", "0"])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    result = CliRunner().invoke(app, ["up", "--data", str(tmp_path), "--port", "0"])
    assert (result.exit_code, f"{tmp_path} belongs to another user" in result.stderr) == (1, True)
    assert list(tmp_path.iterdir()) == []


def test_brokers_log_in_to_each_other_and_an_edited_folder_or_an_override_has_it_its_way(tmp_path: Path) -> None:
    """None of the brokers starts: num.partitions is invalid."""
    run, wrong = CliRunner(), ["--override", "num.partitions=many"]
    at = ["up", "--brokers", "1", "--port", "0", *wrong, "--data"]
    not_secured = "Traffic between brokers is not secured by up: "
    result = run.invoke(app, [*at, str(tmp_path / "new")])
    assert not_secured not in result.output
    assert "REPLICATION:SASL_PLAINTEXT" in (tmp_path / "new" / "broker-1" / "server.properties").read_text()
    assert (tmp_path / "new" / "brokers.jaas").stat().st_mode & 0o777 == 0o600
    result = run.invoke(app, [*at, str(tmp_path / "own"), "--override", "sasl.enabled.mechanisms=PLAIN"])
    assert not_secured + "--override sets sasl.enabled.mechanisms." in result.output
    ProcessCluster(tmp_path / "old", 1).write_files()
    file = tmp_path / "old" / "broker-1" / "server.properties"
    file.write_text(file.read_text() + "num.partitions=many\n")
    result = run.invoke(app, [*at, str(tmp_path / "old")])
    assert f"{file} was edited" in result.output
    assert not_secured + "an edited server.properties has no logins for it." in result.output
    assert not list(tmp_path.glob("o*/brokers.jaas"))


def test_an_edited_file_is_kept_and_named(tmp_path: Path) -> None:
    ProcessCluster(tmp_path, 1).write_files()
    file = tmp_path / "broker-1" / "server.properties"
    edited = file.read_text() + "num.partitions=many\n"
    file.write_text(edited)
    result = CliRunner().invoke(app, ["up", "--data", str(tmp_path), "--brokers", "1", "--port", "0"])
    assert f"{file} was edited (or written by an older version) and is used as it is" in result.output
    assert "'many' is not a whole number" in result.output
    assert file.read_text() == edited


def test_a_drill_has_listeners_of_its_own(tmp_path: Path) -> None:
    run, at = CliRunner(), ["up", "--drill", "--brokers", "1", "--port", "0", "--data", str(tmp_path)]
    result = run.invoke(app, [*at, "--advertised-host", "kafka"])
    assert (result.exit_code, "leave out --advertised-host" in result.stderr) == (2, True)
    result = run.invoke(app, [*at, "--override", "advertised.listeners=CLIENT://a:1"])
    assert (result.exit_code, "leave out --override advertised.listeners" in result.stderr) == (2, True)
    protocols = "listener.security.protocol.map=CLIENT:SSL,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT"
    more = ["--listener", "EXTERNAL=PLAINTEXT"]
    run.invoke(app, [*at, *more, "--override", protocols, "--override", "num.partitions=many"])
    properties = (tmp_path / "broker-1" / "server.properties").read_text()
    assert f"{protocols},KIT:PLAINTEXT,EXTERNAL:PLAINTEXT\n" in properties
    assert "EXTERNAL://127.0.0.1:" in properties
    assert not (tmp_path / "drill.sock").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--listener", "EXTERNAL=SSL"], "--listener adds relays: give --drill, too"),
        (["--drill", "--listener", "EXTERNAL"], "--listener takes key=value, not 'EXTERNAL'"),
        (["--drill", "--listener", "EXTERNAL=TLS"], "the protocol is one of PLAINTEXT, SSL"),
        (["--drill", "--listener", "kit=SSL"], "take another name than CLIENT, REPLICATION"),
    ],
)
def test_listeners_that_cannot_be(options: list[str], message: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["up", "--data", str(tmp_path), "--port", "0", *options])
    assert (result.exit_code, message in result.stderr) == (2, True), result.output


def test_a_drill_whose_port_is_taken_says_so(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = CliRunner().invoke(app, ["up", "--drill", "--data", str(tmp_path), "--port", port])
    assert result.exit_code == 1
    assert "a relay of --drill cannot listen: Address already in use" in result.output
