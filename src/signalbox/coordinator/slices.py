"""Runs an iterator in short slices, so that loading a partition never delays a request.

The work is an iterator of small steps. A slice runs steps until its time is over; the rest follows in the next
iteration of the event loop, after everything else that is ready.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from signalbox.coordinator.loop_port import GetLoop

# Together with the last step this stays below 200 µs, the time that any code may keep the event loop.
SLICE_SECONDS = 0.000_150


def run_in_slices(get_loop: GetLoop, steps: Iterator[None], finished: Callable[[], None] = lambda: None) -> None:
    """Run `steps` to the end, from the next iteration of the loop on, then call `finished`."""
    loop = get_loop()

    def run_slice() -> None:
        until = loop.time() + SLICE_SECONDS
        for _ in steps:
            if loop.time() >= until:
                loop.call_soon(run_slice)
                return
        finished()

    loop.call_soon(run_slice)
