"""`signalbox user`: created, listed, deleted; the password is read from a prompt or from the environment."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner

from signalbox.cli.main import app
from signalbox.testing.cluster import Cluster


def rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if "│" in line]


def test_set_list_and_delete(run: Any, cluster: Cluster) -> None:
    asked = CliRunner(env={"SIGNALBOX_BOOTSTRAP": cluster.bootstrap_servers})
    made = asked.invoke(app, ["user", "set", "alice"], input="s3cret\n")
    assert made.exit_code == 0
    assert made.stdout.endswith("alice: SCRAM-SHA-256 set\n")
    assert "s3cret" not in made.output
    more = ["user", "set", "alice", "--mechanism", "SCRAM-SHA-512", "--iterations", "8192"]
    assert asked.invoke(app, more, env={"SIGNALBOX_PASSWORD": "s3cret"}).exit_code == 0
    assert rows(run("user", "list", "alice").stdout) == [
        ["alice", "SCRAM-SHA-256", "4096"],
        ["alice", "SCRAM-SHA-512", "8192"],
    ]
    assert run("user", "delete", "alice").stdout == "alice: SCRAM-SHA-256 deleted\n"
    assert run("user", "delete", "alice", "--mechanism", "SCRAM-SHA-512").exit_code == 0
    assert rows(run("user", "list").stdout) == []


def test_an_error_is_one_line(run: Any) -> None:
    for arguments, says in (
        (("delete", "unknown"), "RESOURCE_NOT_FOUND"),
        (("set", "u", "--password", "p", "--iterations", "1"), "Too few iterations"),
        (("set", "u", "--password", "p", "--mechanism", "PLAIN"), "PLAIN is no SCRAM mechanism"),
    ):
        result = run("user", *arguments)
        assert (result.exit_code, result.stdout) == (1, "")
        assert says in result.stderr
        assert len(result.stderr.splitlines()) == 1
