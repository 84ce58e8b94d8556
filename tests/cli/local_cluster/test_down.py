"""`signalbox down`: the end of a detached cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from signalbox.cli.local_cluster.cluster_folder import running_process
from signalbox.cli.main import app
from signalbox.testing.locked_file import holder_of, lock_file

SIGNALBOX = [sys.executable, "-c", "from signalbox.cli.main import run; run()"]


def test_without_a_cluster_there_is_an_error(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["down", "--data", str(tmp_path)])
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", f"no cluster runs in {tmp_path}\n")


def test_no_process_is_signalled_because_its_id_is_in_a_locked_file(tmp_path: Path) -> None:
    """Any user could lock the file of an older version, which kept the id of a process that had ended."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as bystander:
        (tmp_path / "up.pid").write_text(f"{bystander.pid}\n")
        with (tmp_path / "up.pid").open() as lock:
            lock_file(lock)
            result = CliRunner().invoke(app, ["down", "--data", str(tmp_path)])
        assert (result.exit_code, result.stderr) == (1, f"no cluster runs in {tmp_path}\n")
        bystander.communicate(b"\n")
    assert bystander.returncode == 0


def test_a_cluster_that_cannot_be_seen_is_not_taken_for_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "up.pid").symlink_to(tmp_path / "other")
    result = CliRunner().invoke(app, ["down", "--data", str(tmp_path)])
    assert (result.exit_code, f"{tmp_path}/up.pid cannot be read: " in result.stderr) == (1, True)

    def hidden(folder: Path) -> None:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr("signalbox.cli.local_cluster.down.running_process", hidden)
    result = CliRunner().invoke(app, ["down", "--data", str(tmp_path)])
    message = f"the cluster of {tmp_path} belongs to another user, who alone can stop it\n"
    assert (result.exit_code, result.stderr) == (1, message)


def test_a_folder_whose_name_is_not_utf_8_is_one_sentence(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["down", "--data", str(tmp_path / "d7\udcff")])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "d7\\udcff" in result.stderr


def test_brokers_of_a_killed_up_are_named_and_stopped(tmp_path: Path) -> None:
    def signalbox(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*SIGNALBOX, *arguments, "--data", str(tmp_path)], capture_output=True, text=True)

    up = ("up", "--brokers", "1", "--port", "0")
    started = signalbox("--json", *up, "--detach")
    try:
        assert started.returncode == 0, started.stdout + started.stderr
        [broker] = [node["process"] for node in json.loads(started.stdout)["nodes"]]
        process = running_process(tmp_path)
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        assert process.ended_within(60)
        process.close()
        again = signalbox(*up)
        stop = f"`signalbox down --data {tmp_path}` stops it"
        assert again.returncode == 1
        assert f"broker 1 of {tmp_path} already runs (process {broker}): {stop}" in again.stdout
    finally:
        stopped = signalbox("--json", "down")
    assert json.loads(stopped.stdout) == {"folder": str(tmp_path), "process": None, "left_nodes": [broker]}
    assert holder_of(broker, tmp_path / "broker-1" / "broker.log") is None
    assert signalbox("down").stderr == f"no cluster runs in {tmp_path}\n"


def test_json_has_the_addresses_and_a_topic_that_was_not_created_is_no_success(tmp_path: Path) -> None:
    def signalbox(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*SIGNALBOX, *arguments, "--data", str(tmp_path)], capture_output=True, text=True)

    topics = ("--topic", "flights", "--topic", "few:1:5")
    started = signalbox("--json", "up", "--brokers", "1", "--port", "0", "--detach", *topics)
    try:
        assert started.returncode == 1, started.stdout + started.stderr
        assert started.stderr.startswith("topic few was not created: ")
        document = json.loads(started.stdout)
        [node] = document["nodes"]
        assert (document["folder"], node["role"]) == (str(tmp_path), "broker")
        assert node["listeners"]["CLIENT"] == document["bootstrap_servers"]
        assert node["metrics"].startswith("127.0.0.1:")
    finally:
        stopped = signalbox("down", "--json")
    assert (stopped.returncode, json.loads(stopped.stdout)["folder"]) == (0, str(tmp_path))


def test_a_detached_cluster_with_topics_is_used_and_stopped(tmp_path: Path) -> None:
    def signalbox(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*SIGNALBOX, *arguments], capture_output=True, text=True, check=False, env=env)

    env = {**os.environ, "XDG_DATA_HOME": str(tmp_path / "my data")}
    started = signalbox("up", "--brokers", "1", "--port", "0", "--topic", "flights:4", "--detach")
    try:
        assert started.returncode == 0, started.stdout + started.stderr
        [ready] = [line for line in started.stdout.splitlines() if line.startswith("bootstrap.servers=")]
        bootstrap = ready.removeprefix("bootstrap.servers=").split()[0]
        folder = tmp_path / "my data" / "signalbox" / "up"
        assert ready.endswith(f"   signalbox down --data '{folder}' stops the cluster")
        described = json.loads(signalbox("topic", "describe", "flights", "-b", bootstrap, "--json").stdout)
        assert len(described["partitions"]) == 4
        again = signalbox("up", "--brokers", "1", "--port", "0", "--detach")
        assert again.returncode == 1
        assert "already runs" in again.stdout + again.stderr
    finally:
        stopped = signalbox("down")
    assert (stopped.returncode, stopped.stdout) == (0, "stopped\n")
    assert signalbox("down").returncode == 1
    log = (folder / "broker-1" / "broker.log").read_text()
    assert not [line for line in log.splitlines() if " WARNING " in line or " ERROR " in line]
