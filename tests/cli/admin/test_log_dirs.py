"""`signalbox log-dirs`: directories, their space, and replicas."""

from __future__ import annotations

import json
from typing import Any


def test_directories_and_the_replicas_of_a_topic(run: Any) -> None:
    run("topic", "create", "stored", "--partitions", "2", "--replication-factor", "2")
    run("produce", "-t", "stored", "-p", "1", lines="x\n")
    document = json.loads(run("log-dirs", "-t", "stored", "--json").stdout)
    assert [row["broker"] for row in document["log_dirs"]] == [1, 2]
    assert {row["replicas"] for row in document["log_dirs"]} == {2}
    sizes = {(row["broker"], row["partition"]): row["bytes"] for row in document["replicas"]}
    assert sizes.keys() == {(1, 0), (1, 1), (2, 0), (2, 1)}
    assert (sizes[1, 0], sizes[1, 1] > 0) == (0, True)


def test_one_broker_and_a_table(run: Any) -> None:
    printed = run("log-dirs", "--broker", "2")
    [row] = [line for line in printed.stdout.splitlines() if line.startswith("│")]
    assert row.split("│")[1].strip() == "2"
    assert "offset lag" in run("log-dirs", "--replicas").stdout


def test_an_unknown_topic_and_an_unknown_broker_are_rejected(run: Any) -> None:
    for arguments, text in ((("-t", "nope"), "topic nope does not exist"), (("--broker", "9"), "broker 9")):
        result = run("log-dirs", *arguments)
        assert (result.exit_code, result.stdout) == (1, "")
        assert text in result.stderr
