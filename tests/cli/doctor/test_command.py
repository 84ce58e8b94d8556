"""`signalbox doctor`: its arguments, and what they give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from signalbox.testing.cluster import Cluster

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
        (["a:1", "--rounds", "2"], "--rounds without --watch"),
        (["a:1", "--rounds", "0"], "--rounds without --watch"),
        (["a:1", "--every", "60"], "--every without --watch"),
        (["a:1", "--every", "1", "--rounds", "2"], "--every and --rounds without --watch"),
        (["a:1", "--watch", "--every", "0"], "--every"),
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
