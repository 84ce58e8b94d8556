"""`signalbox down`: the end of a detached cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from signalbox.cli.main import app

SIGNALBOX = [sys.executable, "-c", "from signalbox.cli.main import run; run()"]


def test_without_a_cluster_there_is_an_error(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["down", "--data", str(tmp_path)])
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", f"no cluster runs in {tmp_path}\n")


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

    env = {**os.environ, "XDG_DATA_HOME": str(tmp_path)}
    started = signalbox("up", "--brokers", "1", "--port", "0", "--topic", "flights:4", "--detach")
    try:
        assert started.returncode == 0, started.stdout + started.stderr
        [ready] = [line for line in started.stdout.splitlines() if line.startswith("bootstrap.servers=")]
        bootstrap = ready.removeprefix("bootstrap.servers=").split()[0]
        assert "signalbox down" in ready
        described = json.loads(signalbox("topic", "describe", "flights", "-b", bootstrap, "--json").stdout)
        assert len(described["partitions"]) == 4
        again = signalbox("up", "--brokers", "1", "--port", "0", "--detach")
        assert again.returncode == 1
        assert "already runs" in again.stdout + again.stderr
    finally:
        stopped = signalbox("down")
    assert (stopped.returncode, stopped.stdout) == (0, "stopped\n")
    assert signalbox("down").returncode == 1
    log = (tmp_path / "signalbox" / "up" / "broker-1" / "broker.log").read_text()
    assert not [line for line in log.splitlines() if " WARNING " in line or " ERROR " in line]
