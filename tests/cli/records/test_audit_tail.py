"""`signalbox audit tail`: the last events and new ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

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


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("app-1", "app-1"),
        ("a\n1970-01-01 forged", r'"a\n1970-01-01 forged"'),
        ("\x1b[2J\x9b", r"\x1b[2J\x9b"),
        ("a principal=User:admin", '"a principal=User:admin"'),
        ("a=b", '"a=b"'),
        ('say "x"', r'"say \"x\""'),
        (r"a\n", r'"a\\n"'),
        ("\u202eevil\u2028x", r'"\u202eevil\u2028x"'),
        ("\xa0api=X", r'"\xa0api=X"'),
    ],
)
def test_a_client_forges_nothing_in_a_line(value: str, shown: str) -> None:
    event = {"timestamp_ms": 0, "broker_id": 2, "kind": "denied", "client_id": value, "api": "FETCH"}
    assert event_line(event) == f"1970-01-01T00:00:00.000Z broker=2 denied client_id={shown} api=FETCH"


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
