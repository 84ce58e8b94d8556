"""`signalbox doctor`: arguments, exit status, files."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from signalbox.testing.cluster import Cluster
from tests.cli.ctrl_c import enable_ctrl_c
from tests.doctor.hostile import server, silent

pytestmark = pytest.mark.spec("R8")


def test_a_healthy_cluster_in_every_form(run: Any, cluster: Cluster, tmp_path: Path) -> None:
    junit, html = tmp_path / "doctor.xml", tmp_path / "doctor.html"
    result = run("doctor", cluster.bootstrap_servers, "--junit", str(junit), "--html", str(html))
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1].endswith(": all right")
    assert ElementTree.parse(junit).getroot().find("testsuite").get("failures") == "0"  # type: ignore[union-attr]
    assert "<svg" in html.read_text()
    topics = {topic for node in cluster.nodes.values() for topic in node.components.cache.image.topics}
    assert not any("__consumer_offsets" in str(topic) for topic in topics), "the doctor creates nothing"


def test_the_address_of_all_commands_counts_without_an_argument(run: Any, cluster: Cluster, tmp_path: Path) -> None:
    assert run("doctor").stdout.splitlines()[-1].endswith(": all right"), "of the environment"
    assert run("doctor", "127.0.0.1:1").exit_code == 1, "an argument counts more than the environment"
    for arguments in (("-b", cluster.bootstrap_servers, "doctor"), ("doctor", "-b", cluster.bootstrap_servers)):
        result = run(*arguments, bootstrap="127.0.0.1:1")
        assert result.exit_code == 0, result.output
    config = tmp_path / "tls.properties"
    config.write_text("security.protocol=SSL\n")
    assert "TLS_MISSING" in run("--command-config", str(config), "doctor").stdout


def test_json_before_and_after_the_command(run: Any) -> None:
    for arguments in (("--json", "doctor"), ("doctor", "--json")):
        assert json.loads(run(*arguments).stdout)["status"] == 0


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
    result = run("doctor", cluster.bootstrap_servers, "--watch", "--every", "0", "--rounds", "3")
    assert (result.exit_code, result.stdout.count("all right")) == (0, 3)


def test_watch_ends_with_the_worst_status_of_its_rounds(run: Any, cluster: Cluster, tmp_path: Path) -> None:
    """The first round is compared with a report in which a broker is elsewhere, the second one with the first."""
    first = run("doctor", cluster.bootstrap_servers, "--json")
    earlier = tmp_path / "earlier.json"
    address = json.loads(first.stdout)["examination"]["listeners"][0]["view"]["brokers"]["1"]
    earlier.write_text(first.stdout.replace(f'"1": "{address}"', '"1": "elsewhere:9092"'))
    watch = ("--watch", "--every", "0", "--rounds", "2")
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
    full = run("doctor", cluster.bootstrap_servers, option, "/dev/full", "--watch", "--every", "0", "--rounds", "2")
    assert (full.exit_code, full.stdout.count("all right")) == (2, 2)
    assert "/dev/full cannot be written" in full.stderr
    assert run("doctor", "127.0.0.1:1", option, "/dev/full").exit_code == 1


def test_addresses_are_printed_as_they_are(run: Any) -> None:
    result = run("doctor", "[2001:100:7::1]:1", "--timeout", "0.1")
    assert "[2001:100:7::1]:1" in result.stdout


def test_explain_prints_the_page_of_a_code(run: Any) -> None:
    result = run("doctor", "--explain", "wrong_node")
    assert result.exit_code == 0
    assert result.stdout.startswith("# WRONG_NODE: another node responds")
    unknown = run("doctor", "--explain", "NONSENSE")
    assert (unknown.exit_code, "WRONG_NODE" in unknown.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["-b", "a:1", "b:1"], "give one of them"),
        (["no-port"], "is not host:port"),
        (["a:1", "--command-config", "missing.properties"], "missing.properties cannot be read"),
        (["a:1", "b:1", "c:1", "--command-config", "x", "--command-config", "y"], "one for each"),
        (["a:1", "--compare", "missing.json"], "missing.json cannot be compared"),
    ],
)
def test_a_wrong_command_line_has_exit_status_2(run: Any, arguments: list[str], problem: str) -> None:
    result = run("doctor", *arguments)
    assert (result.exit_code, problem in result.stderr) == (2, True), result.stderr


def test_each_entry_has_its_own_properties(run: Any, cluster: Cluster, tmp_path: Path) -> None:
    plain, tls = tmp_path / "plain.properties", tmp_path / "tls.properties"
    plain.write_text("security.protocol=PLAINTEXT\n")
    tls.write_text("security.protocol=SSL\n")
    entry = cluster.bootstrap_servers
    result = run("doctor", entry, entry, "--command-config", str(plain), "--command-config", str(tls))
    assert result.exit_code == 1
    assert "error: TLS_MISSING" in result.stdout
    assert "change security.protocol to PLAINTEXT" in result.stdout
    assert f"{entry} (2) (SSL): no Metadata" in result.stdout, "an entry that is given twice has a number"
    assert result.stdout.count("  !!") == 2
