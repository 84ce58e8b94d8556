"""`signalbox group lag`."""

from __future__ import annotations

import json
from typing import Any

import pytest


@pytest.fixture(scope="module")
def group(run: Any) -> str:
    """A group that has read 3 of 5 records of one partition, and all of a topic that is deleted then."""
    run("topic", "create", "lagging", "--partitions", "1")
    run("topic", "create", "gone", "--partitions", "1")
    for topic in ("lagging", "gone"):
        run("produce", "-t", topic, lines="1\n2\n3\n4\n5\n")
    run("consume", "-t", "gone", "-G", "behind", "-e")
    run("consume", "-t", "lagging", "-G", "behind", "-c", "3")
    return "behind"


def test_committed_end_and_lag(run: Any, group: str) -> None:
    rows = {row["topic"]: row for row in json.loads(run("group", "lag", group, "--json").stdout)}
    assert [rows["lagging"][name] for name in ("group", "partition", "committed", "end", "lag")] == [group, 0, 3, 5, 2]
    assert rows["lagging"]["member"] is None
    assert rows["gone"]["lag"] == 0
    assert group in run("group", "lag").stdout


def test_a_topic_that_is_deleted_has_no_end(run: Any, group: str) -> None:
    run("topic", "delete", "gone")
    rows = {row["topic"]: row for row in json.loads(run("group", "lag", group, "--json").stdout)}
    if "gone" in rows:  # the coordinator deletes its offsets some time later
        assert (rows["gone"]["end"], rows["gone"]["lag"]) == (None, None)
    assert rows["lagging"]["lag"] == 2


def test_a_group_that_does_not_exist_is_an_error(run: Any) -> None:
    result = run("group", "lag", "never-seen", "--json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "group never-seen does not exist" in result.stderr
