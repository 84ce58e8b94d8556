"""A client's loop in a process of its own, killed once between two requests and started again; and what it left."""

from __future__ import annotations

import select
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field

from confluent_kafka import Consumer, TopicPartition

from tests.system.provision import HERE
from tests.waiting import until

_RUN_S = 90.0
_PROJECT = HERE.parents[1]


@dataclass(frozen=True)
class LoopProgram:
    """A program that takes the arguments of `step.LoopArguments`. `command` is called when a test runs it."""

    name: str
    command: Callable[[], list[str]]
    environment: Callable[[], dict[str, str]] = field(default=dict)


class RunningLoop:
    """One run of a program."""

    def __init__(self, arguments: list[str], environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            arguments,
            cwd=_PROJECT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def kill_when_paused(self) -> None:
        """SIGKILL at the step at which the program waits; AssertionError with its output if it does not come there."""
        stdout = self._process.stdout
        assert stdout is not None
        readable = select.select([stdout], [], [], _RUN_S)[0]
        line = stdout.readline() if readable else ""
        self._process.kill()
        _, errors = self._process.communicate()
        assert line == "paused\n", errors

    def end(self) -> None:
        """Waits for the end of the program; AssertionError with its output if it failed."""
        try:
            _, errors = self._process.communicate(timeout=_RUN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise AssertionError(f"the loop did not end: {self._process.communicate()[1]}") from None
        assert self._process.returncode == 0, errors


def numbers_in(bootstrap: str, topic: str, isolation: str) -> list[list[int]]:
    """The numbers in each of the two partitions, in order, up to the last stable offset or the high watermark."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"reads-{topic}",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "fetch.queue.backoff.ms": 5,
        }
    )
    found: list[list[int]] = [[], []]
    at_end: set[int] = set()
    consumer.assign([TopicPartition(topic, partition, 0) for partition in (0, 1)])

    def read() -> bool:
        message = consumer.poll(0.2)
        if message is not None and message.error() is not None:
            at_end.add(message.partition() or 0)
        elif message is not None:
            found[message.partition() or 0].append(int(message.value() or b"-1"))
        return at_end == {0, 1}

    until(read, f"the ends of both partitions of {topic}", _RUN_S)
    consumer.close()
    return found


def committed_offset(bootstrap: str, group: str, source: str) -> int:
    """The offset that the group has committed for partition 0 of its source."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    [partition] = consumer.committed([TopicPartition(source, 0)], 30)
    consumer.close()
    offset: int = partition.offset
    return offset
