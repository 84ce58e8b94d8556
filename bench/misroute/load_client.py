"""A client that a drill loads a cluster with, as a process (`our_client.py` says what it writes), and what it did."""

from __future__ import annotations

import subprocess
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

_END_S = 180.0
Name = tuple[int, int]  # partition and number of a record


def name_of(value: bytes) -> Name:
    """The partition and number in a record's value."""
    partition, number = map(int, value.split())
    return partition, number


class Acknowledged(NamedTuple):
    """Times in nanoseconds of the monotonic clock."""

    partition: int
    sent_ns: int
    acknowledged_ns: int


class LoadClient:
    """What the process reports: `names` are the acknowledged records, `errors` counts exceptions of the consumer.
    RuntimeError when it does not get ready, or does not end, in time."""

    def __init__(self, command: Sequence[str]) -> None:
        self.acknowledged: list[Acknowledged] = []
        self.failures: list[str] = []
        self.errors = 0
        self.names: set[Name] = set()
        self._consumed: Counter[Name] = Counter()
        self._state = "starts"
        self._changed = threading.Condition()
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._reader = threading.Thread(target=self._read, name="load client", daemon=True)
        self._reader.start()

    def await_ready(self, seconds: float) -> None:
        """Waits until the consumer has its partitions."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._state != "starts", seconds) or self._state != "ready":
                raise RuntimeError(f"the client is not ready: {self._state}")

    def run(self, running: bool) -> None:
        """Lets it send records, or stops that."""
        self._tell("go" if running else "stop")

    def await_acknowledged(self, partitions: Sequence[int], since_ns: int, seconds: float) -> dict[int, int] | None:
        """By partition, when the first record after `since_ns` was acknowledged; None if that takes too long."""
        at: dict[int, int] = {}
        index = len(self.acknowledged)
        while index and self.acknowledged[index - 1].acknowledged_ns >= since_ns:
            index -= 1
        deadline = time.monotonic() + seconds
        with self._changed:
            while True:
                for record in self.acknowledged[index:]:
                    if record.partition in partitions and record.acknowledged_ns >= since_ns:
                        at.setdefault(record.partition, record.acknowledged_ns)
                index = len(self.acknowledged)
                if len(at) == len(partitions):
                    return at
                if self._state == "ended" or not self._changed.wait(deadline - time.monotonic()):
                    return None

    def end(self) -> None:
        """Ends the input, and waits until the client has settled everything."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise RuntimeError("the client did not end") from None
        self._reader.join()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def missed(self) -> int:
        """Acknowledged records that the consumer has not got, and records that it has got more than once."""
        repeated = sum(count > 1 for count in self._consumed.values())
        return len(self.names - self._consumed.keys()) + repeated

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            kind, *fields = line.split()
            with self._changed:
                self._note(kind, fields, line)
                self._changed.notify_all()
        with self._changed:
            self._state = "ended"
            self._changed.notify_all()

    def _note(self, kind: str, fields: list[str], line: str) -> None:
        if kind == "a":
            partition, number, sent_ns, acknowledged_ns = map(int, fields)
            self.names.add((partition, number))
            self.acknowledged.append(Acknowledged(partition, sent_ns, acknowledged_ns))
        elif kind == "c":
            self._consumed[int(fields[0]), int(fields[1])] += 1
        elif kind == "f":
            self.failures.append(line.strip())
        elif kind == "e":
            self.errors += 1
        elif kind == "ready":
            self._state = kind
