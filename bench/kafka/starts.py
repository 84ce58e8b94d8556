"""Fresh nodes of one side: how long they take until all of them are ready."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.kafka.sides import Side
from bench.rounds import Interleaved, Rounds


class Starts:
    """The nodes of one side, which each start creates, in a folder of its own below `folder`."""

    def __init__(self, make: Callable[[Path], Side], folder: Path) -> None:
        self._make = make
        self._folder = folder
        self._side: Side | None = None

    def ready(self) -> Mapping[str, float]:
        """Starts nodes, which are kept."""
        self._side = self._make(self._folder)
        print(f"starting {self._side.name}", flush=True)
        return {"ready": self._side.start()}

    def ready_once(self) -> Mapping[str, float]:
        """Starts nodes and kills them, so that they cost nothing while the other side starts."""
        try:
            return self.ready()
        finally:
            self._kill()

    @property
    def side(self) -> Side:
        """The nodes that run. RuntimeError: they do not."""
        if self._side is None:
            raise RuntimeError(f"no nodes run in {self._folder}")
        return self._side

    def stop(self) -> None:
        """Stops the nodes if they run, and removes their files."""
        if self._side is not None:
            self._side.stop()
        self._forget()

    def _kill(self) -> None:
        if self._side is not None:
            for node_id in self._side.pids:
                self._side.kill(node_id)
        self._forget()

    def _forget(self) -> None:
        self._side = None
        shutil.rmtree(self._folder, ignore_errors=True)


def start_interleaved(starts: Interleaved[Starts], rounds: int) -> tuple[Rounds, Interleaved[Side]]:
    """The times to ready of all rounds, and the two sides of the last round."""
    ready = Rounds((), ())
    if rounds > 1:
        ready = starts.measure(Starts.ready_once, rounds - 1)["ready"]
    last = starts.measure(Starts.ready, 1)["ready"]
    reference = None if starts.reference is None else starts.reference.side
    return ready + last if rounds > 1 else last, Interleaved(starts.ours.side, reference)
