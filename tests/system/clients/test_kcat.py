"""kcat from Debian: metadata, produce, consume, a group."""

from __future__ import annotations

import json
import subprocess
from functools import partial

import pytest

from tests.system.conftest import MakeTopic
from tests.system.provision import command

NEEDS = (partial(command, "kcat"),)


def kcat(bootstrap: str, *arguments: str, text: str = "", timeout_s: float = 45) -> str:
    """The output of kcat; AssertionError if its exit code is not 0."""
    run = subprocess.run(
        [command("kcat"), "-b", bootstrap, *arguments], input=text, capture_output=True, text=True, timeout=timeout_s
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.spec("L10", "L11")
def test_lists_metadata(kafka_bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(3)
    one = kafka_bootstrap.split(",")[0]
    found = json.loads(kcat(one, "-L", "-J"))
    assert sorted(broker["name"] for broker in found["brokers"]) == sorted(kafka_bootstrap.split(","))
    partitions = next(each["partitions"] for each in found["topics"] if each["topic"] == topic)
    assert [len(part["isrs"]) for part in partitions] == [3, 3, 3]


@pytest.mark.spec("D1")
@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_produces_and_consumes(kafka_bootstrap: str, make_topic: MakeTopic, compression: str) -> None:
    topic = make_topic()
    lines = [f"key-{number}:line {number}" for number in range(500)]
    idempotent = ["-X", "enable.idempotence=true"]
    kcat(kafka_bootstrap, "-P", "-t", topic, "-K:", "-z", compression, *idempotent, text="\n".join(lines) + "\n")
    found = kcat(kafka_bootstrap, "-C", "-t", topic, "-e", "-o", "beginning", "-q", "-K:")
    assert found.splitlines() == lines


@pytest.mark.spec("D8")
def test_reads_in_a_group_and_goes_on_where_it_was(kafka_bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(2)
    kcat(kafka_bootstrap, "-P", "-t", topic, text="\n".join(map(str, range(100))) + "\n")
    group = ["-G", f"kcat-{topic}", "-q", "-X", "auto.offset.reset=earliest"]
    first = kcat(kafka_bootstrap, *group, "-c", "100", topic)
    assert sorted(map(int, first.split())) == list(range(100))
    kcat(kafka_bootstrap, "-P", "-t", topic, text="more\n")
    assert kcat(kafka_bootstrap, *group, "-c", "1", topic).split() == ["more"]


@pytest.mark.spec("D1")
def test_asks_for_offsets_by_time(kafka_bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    kcat(kafka_bootstrap, "-P", "-t", topic, text="a\nb\n")
    assert kcat(kafka_bootstrap, "-Q", "-t", f"{topic}:0:-1").split()[-1] == "2"
    assert kcat(kafka_bootstrap, "-Q", "-t", f"{topic}:0:-2").split()[-1] == "0"
