"""`signalbox consume`: by offsets, to the end, and as a member of a group."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Producer

from signalbox.testing.cluster import Cluster
from tests.cli.following import first_line

TOPIC = "consumed"


@pytest.fixture(scope="module", autouse=True)
def records(run: Any) -> None:
    """Offsets 0 to 9 in each of two partitions, one compressed batch each."""
    run("topic", "create", TOPIC, "--partitions", "2")
    for partition in "01":
        lines = "".join(f"{partition}-{number}\n" for number in range(10))
        run("produce", "-t", TOPIC, "-p", partition, "-z", "gzip", "--timestamp", str(1_000), lines=lines)


def values(run: Any, *arguments: str) -> list[str]:
    result = run("consume", "-t", TOPIC, *arguments)
    assert result.exit_code == 0, result.output
    return sorted(result.stdout.splitlines())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("-e",), [f"{partition}-{number}" for partition in "01" for number in range(10)]),
        (("-e", "-p", "1", "-o", "8"), ["1-8", "1-9"]),
        (("-e", "-o", "-1"), ["0-9", "1-9"]),
        (("-e", "-o", "end"), []),
        (("-e", "-o", "@5000"), []),
        (("-p", "0", "-c", "3"), ["0-0", "0-1", "0-2"]),
        (("-p", "0", "-c", "1", "-o", "4", "-f", r"%t/%p/%o %s %T\n"), [f"{TOPIC}/0/4 0-4 1000"]),
    ],
)
def test_which_records(run: Any, arguments: tuple[str, ...], expected: list[str]) -> None:
    assert values(run, *arguments) == expected


def test_a_group_goes_on_where_it_stopped(run: Any) -> None:
    first = values(run, "--group", "line-members", "-c", "5")
    rest = values(run, "--group", "line-members", "-e")
    assert len(first) == 5
    assert sorted(first + rest) == values(run, "-e")
    assert values(run, "--group", "line-members", "-e") == []


def test_records_of_open_and_aborted_transactions_are_left_out_on_request(run: Any, cluster: Cluster) -> None:
    run("topic", "create", "transactional", "--partitions", "1")
    config = {"bootstrap.servers": cluster.bootstrap_servers}
    for value, ends in ((b"aborted", "abort"), (b"committed", "commit"), (b"open", "")):
        producer = Producer({**config, "transactional.id": f"consumed-{value.decode()}"})
        producer.init_transactions(60)
        producer.begin_transaction()
        producer.produce("transactional", value)
        producer.flush(60)
        if ends:
            getattr(producer, f"{ends}_transaction")(60)
    everything = run("consume", "-t", "transactional", "-e").stdout.split()
    assert everything == ["aborted", "committed", "open"]
    for arguments in ((), ("-G", "of-transactions")):
        assert run("consume", "-t", "transactional", "-e", "--read-committed", *arguments).stdout == "committed\n"


def test_new_records_are_printed_as_they_arrive(run: Any, cluster: Cluster) -> None:
    arguments = ["consume", "-b", cluster.bootstrap_servers, "-t", TOPIC, "-o", "end"]
    assert first_line(arguments, lambda: run("produce", "-t", TOPIC, "-p", "0", lines="new\n")) == "new\n"


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("-t", TOPIC, "-p", "9"), 1, f"topic {TOPIC} has no partition 9"),
        (("-t", TOPIC, "-o", "middle"), 2, "--offset takes beginning, end"),
        (("-t", TOPIC, "-f", "%q"), 2, "%q is not a field"),
        (("-t", TOPIC, "-G", "g", "-o", "end"), 2, "--partition and --offset do not apply"),
        (("-t", TOPIC, "-c", "0"), 2, "Invalid value"),
        ((), 2, "Missing option"),
    ],
)
def test_rejections(run: Any, arguments: tuple[str, ...], code: int, text: str) -> None:
    result = run("consume", *arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert text in result.stderr


def test_a_member_that_has_not_joined_yet_is_not_at_the_end(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A coordinator may need longer than one poll to form the group: an empty assignment is not the end then."""
    monkeypatch.setattr("signalbox.cli.records.consume._POLL_MS", 1)
    assert values(run, "--group", "slow-members", "-e") == values(run, "-e")
