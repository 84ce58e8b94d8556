"""The `Background` port for tests of decompression: jobs run when the test says so."""

from __future__ import annotations

import threading
from collections import deque

from signalbox.storage.files.background import Done, Work


class HeldThreads:
    """`step` runs the next job in a real thread, and calls `done` on the test's thread."""

    def __init__(self) -> None:
        self.jobs: deque[tuple[Work, Done]] = deque()
        self.closed = False

    def run(self, work: Work, done: Done) -> None:
        self.jobs.append((work, done))

    def step(self) -> None:
        work, done = self.jobs.popleft()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        done(None)

    def close(self) -> None:
        self.closed = True
