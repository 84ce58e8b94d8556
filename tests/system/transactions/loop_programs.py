"""The loops of all clients."""

from __future__ import annotations

import sys
from collections.abc import Callable

from tests.system.provision import HERE, command, go_program, jars, java, java_class, node_modules
from tests.system.transactions.loop import LoopProgram

_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"


class GoMissing(RuntimeError):
    """Go is not installed."""


def _python(module: str) -> Callable[[], list[str]]:
    return lambda: [sys.executable, "-m", f"tests.system.transactions.{module}"]


def _java(project: str) -> Callable[[], list[str]]:
    """`java/Loop.java`, compiled against the newest client, with the client of a project."""

    def run() -> list[str]:
        classes = java_class("Loop.java", "clients").split(":", 1)[0]
        return [*java(_QUIET), "-cp", f"{classes}:{jars(project)}", "Loop"]

    return run


def _kafkajs() -> list[str]:
    return [command("node"), str(HERE / "node" / "loop.js")]


def _with_node_modules() -> dict[str, str]:
    return {"NODE_PATH": str(node_modules()), "KAFKAJS_NO_PARTITIONER_WARNING": "1"}


def _go(name: str) -> Callable[[], list[str]]:
    def run() -> list[str]:
        program = go_program(name)
        if program is None:
            raise GoMissing
        return [program]

    return run


LIBRDKAFKA = LoopProgram("confluent-kafka", _python("of_librdkafka"))
AIOKAFKA = LoopProgram("aiokafka", _python("of_aiokafka"))
KAFKA_PYTHON = LoopProgram("kafka-python", _python("of_kafka_python"))
SIGNALBOX = LoopProgram("signalbox", _python("of_signalbox"))
JAVA_28 = LoopProgram("java-2.8.2", _java("clients28"))
JAVA_39 = LoopProgram("java-3.9.2", _java("kafka39"))
JAVA_44 = LoopProgram("java-4.4.0", _java("clients"))
FRANZ_GO = LoopProgram("franz-go", _go("franz"))
SARAMA = LoopProgram("sarama", _go("sarama"))
KAFKAJS = LoopProgram("kafkajs", _kafkajs, _with_node_modules)
