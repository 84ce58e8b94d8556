"""A client of the drill that is a program."""

from __future__ import annotations

import sys
from concurrent.futures import Future
from typing import Any

import pytest

from signalbox.testing.drill.command_client import CommandClient
from signalbox.testing.kafka_cluster.client_config import ClientConfig

pytestmark = pytest.mark.spec("R7")

CONFIG = ClientConfig(bootstrap_servers="h:1")
_ECHO = """
import os, sys
print("a line of the log", flush=True)
held = []
for line in sys.stdin:
    number, partition, value = line.split()
    if value == "end": os._exit(3)
    if value == "hold": held.append(number); continue
    topic, servers = os.environ["DRILL_TOPIC"], os.environ["DRILL_BOOTSTRAP_SERVERS"]
    text = "ok" if value == "good" else f"no {value} in {topic} at {servers}"
    print(number, text, flush=True)
    for number in held: print(number, "ok", flush=True)
    held = []
"""


def client(program: str = _ECHO) -> CommandClient:
    return CommandClient([sys.executable, "-c", program], CONFIG)


def error_of(future: Future[Any]) -> str:
    error = future.exception(60)
    assert error is not None
    return str(error)


def test_answers_come_in_any_order() -> None:
    producer = client()
    held, good, bad = (producer.send(0, value) for value in (b"hold", b"good", b"bad"))
    assert held.result(60) is None
    assert good.result(60) is None
    assert error_of(bad) == "no bad in drill at h:1"
    producer.close()


def test_records_fail_when_the_program_ends() -> None:
    producer = client()
    held, end = producer.send(0, b"hold"), producer.send(0, b"end")
    assert error_of(held) == error_of(end) == "the client has ended"
    assert error_of(producer.send(0, b"good")) == "the client has ended with code 3"
    producer.close()


def test_a_program_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signalbox.testing.drill.command_client._END_TIMEOUT_S", 0.2)
    producer = client("import threading; threading.Event().wait()")
    unanswered = producer.send(0, b"good")
    producer.close()
    assert error_of(unanswered) == "the client has ended"


def test_a_program_that_does_not_exist() -> None:
    with pytest.raises(FileNotFoundError):
        CommandClient(["/no/such/program"], CONFIG)
