"""Consume, transform, produce: each client's loop is killed inside a transaction and started again with the same
transactional id. Its output is there exactly once."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

import pytest
from confluent_kafka import Producer

from tests.system.conftest import MakeTopic
from tests.system.provision import HERE, command, go_program, jars, java_class, node_modules
from tests.system.transactions.loop import (
    LoopProgram,
    RunningLoop,
    committed_offset,
    java_loop,
    numbers_in,
    python_loop,
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


def _kafkajs() -> list[str]:
    return [command("node"), str(HERE / "node" / "loop.js")]


def _with_node_modules() -> dict[str, str]:
    return {"NODE_PATH": str(node_modules()), "KAFKAJS_NO_PARTITIONER_WARNING": "1"}


def _go(name: str) -> Callable[[], list[str]]:
    def command() -> list[str]:
        program = go_program(name)
        if program is None:
            pytest.skip("Go is not installed")
        return [program]

    return command


PRODUCED, OFFSETS = "produced", "offsets"
"""The steps before a kill: the records are acknowledged; the offsets are, too."""
ROWS = (
    (LoopProgram("confluent-kafka", python_loop("of_librdkafka")), PRODUCED),
    (LoopProgram("confluent-kafka", python_loop("of_librdkafka")), OFFSETS),
    (LoopProgram("aiokafka", python_loop("of_aiokafka")), OFFSETS),
    (LoopProgram("kafka-python", python_loop("of_kafka_python")), OFFSETS),
    (LoopProgram("java-4.4.0", java_loop("clients")), OFFSETS),
    (LoopProgram("java-2.8.2", java_loop("clients28")), PRODUCED),
    (LoopProgram("kafkajs", _kafkajs, _with_node_modules), OFFSETS),
    (LoopProgram("sarama", _go("sarama")), OFFSETS),
    (LoopProgram("franz-go", _go("franz")), PRODUCED),
)


def write_source(bootstrap: str, source: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for number in range(COUNT):
        producer.produce(source, str(number).encode())
    assert producer.flush(30) == 0


@pytest.mark.parametrize(("program", "step"), ROWS, ids=[f"{program.name}-{step}" for program, step in ROWS])
def test_a_killed_loop_goes_on_with_its_transactional_id(
    kafka_bootstrap: str, make_topic: MakeTopic, program: LoopProgram, step: str
) -> None:
    source, target = make_topic(), make_topic(2)
    write_source(kafka_bootstrap, source)
    arguments = [*program.command(), kafka_bootstrap, source, target, f"loop-{target}", str(COUNT)]
    environment = {**os.environ, **program.environment()}
    RunningLoop([*arguments, f"{step}:{PAUSED_TRANSACTION}"], environment).kill_when_paused()
    RunningLoop([*arguments, "-"], environment).end()
    expected = [[number * 2 for number in range(COUNT) if number % 2 == partition] for partition in (0, 1)]
    assert numbers_in(kafka_bootstrap, target, "read_committed") == expected
    assert committed_offset(kafka_bootstrap, f"loop-{target}", source) == COUNT
    everything = [number for numbers in numbers_in(kafka_bootstrap, target, "read_uncommitted") for number in numbers]
    assert len(everything) == COUNT + 10, "the records of the transaction that was killed are there, aborted"
