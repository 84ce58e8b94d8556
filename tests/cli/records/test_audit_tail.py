"""`signalbox audit tail`: the last events and new ones."""

from __future__ import annotations

import json
from typing import Any

from signalbox.cli.records.audit_tail import event_line
from signalbox.testing.cluster import Cluster
from tests.cli.following import first_line
from tests.waiting import until


def events(run: Any, *arguments: str) -> list[dict[str, Any]]:
    result = run("audit", "tail", "--json", *arguments)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_the_last_events_of_some_kinds(run: Any) -> None:
    run("topic", "create", "audited")
    resources = until(
        lambda: (
            found
            if "audited" in (found := [row["resource"] for row in events(run, "--kind", "admin,denied", "-n", "500")])
            else None
        )
    )
    assert len(events(run, "--kind", "admin", "--last", "1")) == 1
    assert events(run, "--kind", "admin", "-n", "0") == []
    assert {row["kind"] for row in events(run, "--kind", "admin")} == {"admin"}
    assert resources


def test_a_line_has_the_fields_that_apply(run: Any) -> None:
    event = {
        "timestamp_ms": 1_500, "broker_id": 2, "kind": "rejected", "count": 3, "listener": "CLIENT", "principal": "",
        "api": "PRODUCE", "error": "X", "target_node": -1,
    }  # fmt: skip
    assert event_line(event) == "1970-01-01T00:00:01.500Z broker=2 rejected x3 listener=CLIENT api=PRODUCE error=X"
    run("topic", "create", "audited-too")
    assert until(lambda: "resource=audited-too" in run("audit", "tail", "--kind", "admin").stdout)


def test_new_events_are_printed_as_they_arrive(run: Any, cluster: Cluster) -> None:
    arguments = ["audit", "tail", "-b", cluster.bootstrap_servers, "--kind", "admin", "-n", "0", "--follow"]
    line = first_line(arguments, lambda: run("config", "set", "topic:audited", "retention.ms=3600000"))
    assert " admin " in line
    assert "audited" in line


def test_an_unknown_kind_and_an_unknown_time_are_rejected(run: Any) -> None:
    result = run("audit", "tail", "--kind", "admin,nonsense")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'nonsense' is not a kind of event: expected admin" in result.stderr
    assert run("audit", "tail", "--since", "soon").exit_code == 2
