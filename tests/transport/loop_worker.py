"""A socket in a data loop that always has work."""

from __future__ import annotations

import socket
import time

from signalbox.transport.data_loop import DataLoop
from signalbox.transport.fair_scheduler import FairMember


class Worker:
    """A member of the loop that is always ready; each event takes `seconds` and is noted in `log`."""

    def __init__(self, loop: DataLoop, seconds: float, log: list[str], name: str = "event") -> None:
        self.loop, self.seconds, self.log, self.name = loop, seconds, log, name
        self.ours, self.theirs = socket.socketpair()
        self.ours.setblocking(False)
        self.fair = FairMember()
        loop.register(self.ours, self)

    def on_events(self, events: int) -> None:
        deadline = time.monotonic() + self.seconds
        while time.monotonic() < deadline:
            pass
        self.log.append(self.name)

    def close(self) -> None:
        self.loop.unregister(self.ours)
        self.ours.close()
        self.theirs.close()
