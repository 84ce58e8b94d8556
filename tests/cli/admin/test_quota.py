"""`signalbox quota`: set, listed, removed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.waiting import until


def quotas(run: Any, *arguments: str) -> list[dict[str, Any]]:
    result = run("quota", "describe", *arguments, "--json")
    assert result.exit_code == 0, result.output
    rows: list[dict[str, Any]] = json.loads(result.stdout)
    return rows


def test_set_list_and_remove(run: Any) -> None:
    done = run("quota", "alter", "--user", "alice", "producer_byte_rate=1000", "consumer_byte_rate=2000")
    assert (done.exit_code, done.stdout) == (0, "user=alice: changed\n")
    expected = [
        {"user": "alice", "client_id": None, "ip": None, "quota": "consumer_byte_rate", "value": 2000},
        {"user": "alice", "client_id": None, "ip": None, "quota": "producer_byte_rate", "value": 1000},
    ]
    assert until(lambda: quotas(run, "--user", "alice") == expected)
    run("quota", "alter", "--user", "<default>", "--client-id", "x", "request_percentage=12.5")
    rows = until(lambda: quotas(run, "--user", "<default>", "--client-id", "x"))
    assert [row["value"] for row in rows] == [12.5]
    assert {row["user"] for row in quotas(run)} == {"alice", "<default>"}
    assert {row["user"] for row in quotas(run, "--client-id", "*")} == {"<default>"}
    assert run("quota", "alter", "--user", "alice", "producer_byte_rate=", "consumer_byte_rate=").exit_code == 0
    assert until(lambda: quotas(run, "--user", "alice") == [])


def test_validation_changes_nothing(run: Any) -> None:
    done = run("quota", "alter", "--ip", "10.0.0.1", "connection_creation_rate=5", "--validate-only")
    assert done.stdout == "ip=10.0.0.1: would be changed\n"
    assert quotas(run, "--ip", "10.0.0.1") == []


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("producer_byte_rate=1",), 2, "--user, --client-id or both are required"),
        (("--user", "a", "--ip", "1.2.3.4", "producer_byte_rate=1"), 2, "or --ip alone"),
        (("--user", "a", "producer_byte_rate=much"), 2, "producer_byte_rate takes a number, not 'much'"),
        (("--user", "a", "nonsense=1"), 1, "nonsense"),
    ],
)
def test_rejections(run: Any, arguments: tuple[str, ...], code: int, text: str) -> None:
    result = run("quota", "alter", *arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert text in result.stderr
