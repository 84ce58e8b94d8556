"""The rounds of the doctor: exit status, comparison, reports that cannot be written."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from signalbox.testing.cluster import Cluster
from tests.cli.ctrl_c import enable_ctrl_c
from tests.doctor.hostile import server, silent

pytestmark = pytest.mark.spec("R8")


def test_json_is_read_by_compare(run: Any, cluster: Cluster, tmp_path: Path) -> None:
    first = run("doctor", cluster.bootstrap_servers, "--json")
    report = json.loads(first.stdout)
    assert (report["status"], report["findings"]) == (0, [])
    earlier = tmp_path / "earlier.json"
    brokers = report["examination"]["listeners"][0]["view"]["brokers"]
    earlier.write_text(first.stdout.replace(f'"1": "{brokers["1"]}"', '"1": "elsewhere:9092"'))
    changed = run("doctor", cluster.bootstrap_servers, "--compare", str(earlier))
    assert changed.exit_code == 1
    assert "ADDRESS_CHANGED" in changed.stdout


def test_nothing_listens(run: Any) -> None:
    result = run("doctor", "127.0.0.1:1")
    assert result.exit_code == 1
    assert "error: CONNECTION_REFUSED" in result.stdout
    assert "change bootstrap.servers" in result.stdout


def test_rounds_of_watch_report_each_round(run: Any, cluster: Cluster) -> None:
    result = run("doctor", cluster.bootstrap_servers, "--watch", "--every", "0.1", "--rounds", "3")
    assert (result.exit_code, result.stdout.count("all right")) == (0, 3)


def test_watch_ends_with_the_worst_status_of_its_rounds(run: Any, cluster: Cluster, tmp_path: Path) -> None:
    """The first round is compared with a report in which a broker is elsewhere, the second one with the first."""
    first = run("doctor", cluster.bootstrap_servers, "--json")
    earlier = tmp_path / "earlier.json"
    address = json.loads(first.stdout)["examination"]["listeners"][0]["view"]["brokers"]["1"]
    earlier.write_text(first.stdout.replace(f'"1": "{address}"', '"1": "elsewhere:9092"'))
    watch = ("--watch", "--every", "0.1", "--rounds", "2")
    result = run("doctor", cluster.bootstrap_servers, "--compare", str(earlier), *watch)
    assert (result.exit_code, result.stdout.count("ADDRESS_CHANGED:")) == (1, 1)
    assert result.stdout.splitlines()[-1].endswith(": all right")


def test_ctrl_c_before_the_first_report_is_not_all_right() -> None:
    async def interrupted() -> int:
        connected = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connected.set()
            await silent(reader, writer)

        async with server(serve) as (host, port):
            program = "from signalbox.cli.main import run; run()"
            arguments = ("-c", program, "doctor", f"{host}:{port}", "--timeout", "100")
            process = await asyncio.create_subprocess_exec(sys.executable, *arguments, preexec_fn=enable_ctrl_c)
            await connected.wait()
            process.send_signal(signal.SIGINT)
            return await process.wait()

    assert asyncio.run(interrupted()) == 130


@pytest.mark.parametrize("option", ["--html", "--junit"])
def test_a_report_that_cannot_be_written(run: Any, cluster: Cluster, tmp_path: Path, option: str) -> None:
    missing = run("doctor", "127.0.0.1:1", option, str(tmp_path / "missing" / "report"))
    assert (missing.exit_code, missing.stdout) == (2, ""), "nothing was examined"
    assert "cannot be written" in missing.stderr
    folder = run("doctor", "127.0.0.1:1", option, str(tmp_path))
    assert (folder.exit_code, folder.stdout) == (2, "")
    full = run("doctor", cluster.bootstrap_servers, option, "/dev/full", "--watch", "--every", "0.1", "--rounds", "2")
    assert (full.exit_code, full.stdout.count("all right")) == (2, 2)
    assert "/dev/full cannot be written" in full.stderr
    assert run("doctor", "127.0.0.1:1", option, "/dev/full").exit_code == 1
