"""A progress bar per table on a terminal; elsewhere the run's lines are all there is.

Lines of the run appear above the bars. The bar is the share of the topic that is in the table, so it is honest about a
topic that grows while it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from signalbox.pipeline.events import PipelineEvent

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID


class ProgressBars:
    """An EventListener: moves the bar of the event's table."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, event: PipelineEvent) -> None:
        if event.known_records < 0:
            return
        if event.pipeline not in self._tasks:
            self._tasks[event.pipeline] = self._progress.add_task(event.pipeline, total=None)
        self._progress.update(
            self._tasks[event.pipeline], total=event.known_records or None, completed=event.consumed_records
        )


@contextmanager
def shown_progress(console: Console) -> Iterator[tuple[Callable[[str], None], ProgressBars | None]]:
    """A printer for lines, and bars if the console is a terminal."""

    def say(line: str) -> None:
        console.print(line, markup=False, highlight=False, soft_wrap=not console.is_terminal)

    if not console.is_terminal:
        yield say, None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        yield say, ProgressBars(progress)
