"""Logs why another node cannot be reached: at once, then at most every ten seconds while the reason is the same.

Connects are retried many times a second, because a node that restarts should be found soon. A node that is down is
ordinary (INFO), and so is one that stops and closes a new connection once. A node that is up but rejects the connection
because of its certificate, our password or its identity shows a wrong configuration (WARNING).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic

from signalbox.client.failures import ClientFailure, ConnectFailed
from signalbox.transport.frame_channel import PEER_CLOSED

LOG_INTERVAL_SECONDS = 10.0
_ORDINARY_STAGE = "tcp"

log = logging.getLogger("signalbox.client.connect")


class ConnectLog:
    """The log of the attempts on one channel; `whither` names it in the message_type."""

    def __init__(self, target: str, clock: Callable[[], float] = monotonic) -> None:
        self._target = target
        self._clock = clock
        self._last_text = ""
        self._again_at = 0.0
        self._left_out = 0

    def failed(self, failure: ClientFailure) -> None:
        """One attempt failed."""
        text, now = str(failure), self._clock()
        closed = isinstance(failure, ConnectFailed) and failure.problem == PEER_CLOSED
        if closed and text != self._last_text:
            self._last_text, self._again_at, self._left_out = text, now, 0  # a second time is logged as a warning
            log.info("Connection failed (%s): %s", self._target, text)
            return
        if text == self._last_text and now < self._again_at:
            self._left_out += 1
            return
        often = (
            f" ({self._left_out} more like it since the last line)"
            if text == self._last_text and self._left_out
            else ""
        )
        self._last_text, self._again_at, self._left_out = text, now + LOG_INTERVAL_SECONDS, 0
        ordinary = not isinstance(failure, ConnectFailed) or failure.stage == _ORDINARY_STAGE
        log.log(
            logging.INFO if ordinary else logging.WARNING, "Connection failed (%s): %s%s", self._target, text, often
        )

    def succeeded(self) -> None:
        """The next failure is logged at once."""
        self._last_text = ""
