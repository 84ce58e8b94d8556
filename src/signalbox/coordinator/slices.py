"""Long work in short slices, so that loading a partition never keeps a request waiting.

Work is an iterator of small steps. A slice runs steps until its time is over; the rest follows in the next turn of
the loop, after whatever else is ready.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from signalbox.coordinator.loop_port import GetLoop

# With the last step's own length on top it stays below the 200 µs that anything may hold the loop.
SLICE_SECONDS = 0.000_150


def run_in_slices(get_loop: GetLoop, steps: Iterator[None], finished: Callable[[], None] = lambda: None) -> None:
    """Run `steps` to the end, beginning in the next turn, then call `finished`."""
    loop = get_loop()

    def turn() -> None:
        until = loop.time() + SLICE_SECONDS
        for _ in steps:
            if loop.time() >= until:
                loop.call_soon(turn)
                return
        finished()

    loop.call_soon(turn)
