"""A client in another language: one process that runs cell after cell, one line of JSON each way.

`{"ask": "round_trip", ...access, "topic", "records"}` → `{"read": [...], "listed": true}`, or
`{"ask": "rejection", ...access, "deadline_s"}` → `{"rejection": "..."}`; `{"error": "..."}` when the client failed.
"""

from __future__ import annotations

import json
import select
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tests.system.interop_security.access import Access, Seen

_ANSWER_S = 60.0


class ClientFailed(RuntimeError):
    """The client's error."""


class Coprocess:
    """A `Driver` in another process, started at its first use."""

    def __init__(self, arguments: list[str], environment: Mapping[str, str]) -> None:
        self._complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            arguments,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
        )

    def round_trip(self, access: Access, topic: str, records: int) -> Seen:
        answer = self._ask("round_trip", access, topic=topic, records=records)
        return Seen(answer["read"], answer["listed"])

    def rejection(self, access: Access, deadline_s: float) -> str:
        return str(self._ask("rejection", access, deadline_s=deadline_s)["rejection"])

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._complaints.close()

    def _ask(self, ask: str, access: Access, **more: object) -> dict[str, Any]:
        line = json.dumps({"ask": ask, **asdict(access), **more}, separators=(",", ":"))
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._line())
        if "error" in answer:
            raise ClientFailed(answer["error"])
        return answer

    def _line(self) -> bytes:
        stream = self._process.stdout
        assert stream is not None
        deadline = time.monotonic() + _ANSWER_S
        readable, _, _ = select.select([stream], [], [], deadline - time.monotonic())
        line = stream.readline() if readable else b""
        if not line:
            self._complaints.seek(0)
            raise ClientFailed(f"no answer within {_ANSWER_S:.0f} s: {self._complaints.read()[-3000:]}")
        return line
