"""The first request of a run: it fails within seconds if no broker can be reached, with the address and the reason.

librdkafka retries a connection until the request's deadline, which is right for a broker that restarts and wrong for a
port that was mistyped. Until the first response the errors of connections are collected; once every broker has failed
for a while, or one has rejected the login and no other one answers, they end the run.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError

POLL_SECONDS = 0.05
LASTING_SECONDS = 1.0  # longer than the attempts at the other brokers of a cluster in which one is down
RECENT_SECONDS = 0.5  # librdkafka tries each broker about every tenth of a second at first
_FINAL = {KafkaError._AUTHENTICATION, KafkaError._SSL}
_MESSAGE = re.compile(r"^(?:\w+://)?(?P<address>[^/]+)/\S+: (?P<reason>.*?)(?: \(after .*)?$")


class NoContactError(RuntimeError):
    """No broker can be used; the message has the addresses and the reasons."""


class FirstContact:
    """Collects the errors of the connections (`error_cb`) until a broker has answered."""

    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}
        self._failing_since: float | None = None
        self._failed_at = 0.0
        self._rejected = False
        self._made = False

    def on_error(self, error: KafkaError) -> None:
        """librdkafka's `error_cb`."""
        if self._made:
            return
        self._failed_at = time.monotonic()
        self._rejected = self._rejected or error.code() in _FINAL
        if error.code() == KafkaError._ALL_BROKERS_DOWN or self._rejected:
            self._failing_since = self._failing_since or time.monotonic()
        if error.code() == KafkaError._ALL_BROKERS_DOWN:
            return
        match = _MESSAGE.match(error.str())
        address, reason = (match["address"], match["reason"]) if match else ("the cluster", error.str())
        self._reasons[address] = reason

    def _is_lasting(self) -> bool:
        """True if all brokers have failed, or one has rejected the login, and no connection came up since."""
        now = time.monotonic()
        if self._failing_since is None or now - self._failing_since < LASTING_SECONDS:
            return False
        return self._rejected or now - self._failed_at < RECENT_SECONDS

    def wait(self, answer: Future[Any], poll: Callable[[float], Any]) -> None:
        """Returns when the answer is there, or when any request has been answered before. Raises NoContactError."""
        while not self._made and not answer.done():
            poll(POLL_SECONDS)
            if not answer.done() and self._reasons and self._is_lasting():
                reasons = "; ".join(f"{address}: {reason}" for address, reason in sorted(self._reasons.items()))
                raise NoContactError(f"no broker can be used: {reasons}")
        self._made = True
