"""Consume, transform, produce: each client's loop is killed inside a transaction and started again with the same
transactional id. Its output is there exactly once."""

from __future__ import annotations

import os
from functools import partial

import pytest
from confluent_kafka import Producer

from tests.system.conftest import MakeTopic
from tests.system.provision import command, jars, java_class, node_modules
from tests.system.transactions.loop import LoopProgram, RunningLoop, committed_offset, numbers_in
from tests.system.transactions.loop_programs import (
    AIOKAFKA,
    FRANZ_GO,
    JAVA_28,
    JAVA_44,
    KAFKA_PYTHON,
    KAFKAJS,
    LIBRDKAFKA,
    SARAMA,
    GoMissing,
)

NEEDS = (
    node_modules,
    partial(command, "node"),
    partial(java_class, "Loop.java", "clients"),
    partial(jars, "clients28"),
)
pytestmark = [pytest.mark.timeout(240), pytest.mark.spec("D5")]

COUNT = 60
PAUSED_TRANSACTION = 3


PRODUCED, OFFSETS = "produced", "offsets"
"""The steps before a kill: the records are acknowledged; the offsets are, too."""
ROWS = (
    (LIBRDKAFKA, PRODUCED),
    (LIBRDKAFKA, OFFSETS),
    (AIOKAFKA, OFFSETS),
    (KAFKA_PYTHON, OFFSETS),
    (JAVA_44, OFFSETS),
    (JAVA_28, PRODUCED),
    (KAFKAJS, OFFSETS),
    (SARAMA, OFFSETS),
    (FRANZ_GO, PRODUCED),
)


def write_source(bootstrap: str, source: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for number in range(COUNT):
        producer.produce(source, str(number).encode())
    assert producer.flush(30) == 0


def command_of(program: LoopProgram) -> list[str]:
    try:
        return program.command()
    except GoMissing:
        pytest.skip("Go is not installed")


@pytest.mark.parametrize(("program", "step"), ROWS, ids=[f"{program.name}-{step}" for program, step in ROWS])
def test_a_killed_loop_goes_on_with_its_transactional_id(
    kafka_bootstrap: str, make_topic: MakeTopic, program: LoopProgram, step: str
) -> None:
    source, target = make_topic(), make_topic(2)
    write_source(kafka_bootstrap, source)
    arguments = [*command_of(program), kafka_bootstrap, source, target, f"loop-{target}", str(COUNT)]
    environment = {**os.environ, **program.environment()}
    RunningLoop([*arguments, f"{step}:{PAUSED_TRANSACTION}"], environment).kill_when_paused()
    RunningLoop([*arguments, "-"], environment).end()
    expected = [[number * 2 for number in range(COUNT) if number % 2 == partition] for partition in (0, 1)]
    assert numbers_in(kafka_bootstrap, target, "read_committed") == expected
    assert committed_offset(kafka_bootstrap, f"loop-{target}", source) == COUNT
    everything = [number for numbers in numbers_in(kafka_bootstrap, target, "read_uncommitted") for number in numbers]
    assert len(everything) == COUNT + 10, "the records of the transaction that was killed are there, aborted"
