"""A client in any language: a program that reads lines and writes lines.

It finds the bootstrap servers in DRILL_BOOTSTRAP_SERVERS and the topic in DRILL_TOPIC. Each line that it reads is
`<number> <partition> <value>`: it produces the value to the partition, and writes `<number> ok` when the record is
acknowledged, or `<number> <reason>` when it has failed; in any order. It ends when its input ends.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from signalbox.testing.drill.drill_client import TOPIC
from signalbox.testing.kafka_cluster.client_config import ClientConfig

_END_TIMEOUT_S = 10.0


class CommandClient:
    """`lambda config: CommandClient(["./my-client"], config)` is a StartClient."""

    def __init__(self, command: Sequence[str], config: ClientConfig) -> None:
        variables = {"DRILL_BOOTSTRAP_SERVERS": config.bootstrap_servers, "DRILL_TOPIC": TOPIC}
        self._lock = threading.Lock()
        self._futures: dict[int, Future[None]] = {}
        self._sent = 0
        self._ended = False
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **variables}
        )
        self._reader = threading.Thread(target=self._read, name="drill client", daemon=True)
        self._reader.start()

    def send(self, partition: int, value: bytes) -> Future[Any]:
        future: Future[None] = Future()
        with self._lock:
            self._sent += 1
            number = self._sent
            if self._ended:
                future.set_exception(RuntimeError(f"the client has ended with code {self._process.wait()}"))
                return future
            self._futures[number] = future
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{number} {partition} {value.decode()}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the program has ended: the reader fails the futures
        return future

    def close(self) -> None:
        """Ends the input; a program that does not end within ten seconds is killed."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self._process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            number, _, text = line.strip().partition(" ")
            future = self._futures.pop(int(number), None) if number.isdigit() else None
            if future is None:
                continue  # a line of the program's log
            if text == "ok":
                future.set_result(None)
            else:
                future.set_exception(RuntimeError(text))
        with self._lock:
            self._ended = True
        for future in self._futures.values():
            future.set_exception(RuntimeError("the client has ended"))
        self._futures.clear()
