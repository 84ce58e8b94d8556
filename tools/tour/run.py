"""Runs one page in a session and says of each step whether it did what the page shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.tour.expected import fault_of
from tools.tour.page import Command, WriteFile, steps
from tools.tour.session import FOREGROUND, Result, Session

_START_S = 0.15  # what `signalbox --version` may take on a machine that does nothing else
_REPETITIONS = 2
_NOT_HERE = ("make ", "git ")  # commands of a checkout: CI runs the targets themselves


@dataclass(frozen=True)
class Step:
    """`fault` is empty if the step did what the page shows."""

    name: str
    seconds: float
    fault: str = ""


def run_page(page: Path, session: Session, say: Callable[[Step], None]) -> list[Step]:
    """Runs the steps of a page and reports each when it has ended.

    Ctrl-C ends a command of the foreground at the end of the page, and before the next such command."""
    done: list[Step] = []
    for step in _steps(page, session):
        say(step)
        done.append(step)
    return done


def _steps(page: Path, session: Session) -> Iterator[Step]:
    for step in steps(page.read_text(encoding="utf-8")):
        place = f"{page.name}:{step.line}"
        if isinstance(step, WriteFile):
            session.write(step.name, step.text)
        elif not step.text.startswith(_NOT_HERE):
            if FOREGROUND.search(step.text):
                yield from _interrupted(page, session)
            result = _best(step, session)
            late = step.within_s is not None and result.seconds > step.within_s
            yield Step(
                f"{place} $ {step.text}", result.seconds, fault_of(step, result, _slowness(session) if late else 1.0)
            )
    yield from _interrupted(page, session)


def _interrupted(page: Path, session: Session) -> Iterator[Step]:
    for command, result in session.interrupt():
        fault = "" if result.exit_code == 0 else f"exit code {result.exit_code} after Ctrl-C\n{result.printed}"
        yield Step(f"{page.name} Ctrl-C: {command}", result.seconds, fault)


def _best(command: Command, session: Session) -> Result:
    """The result of a command. One that is to fail in a time is repeated if it is late: the machine may be busy."""
    result = session.run(command.text)
    for _ in range(_REPETITIONS if command.within_s else 0):
        if result.seconds <= (command.within_s or 0) or fault_of(command, result, float("inf")):
            break
        result = min(result, session.run(command.text), key=lambda each: each.seconds)
    return result


def _slowness(session: Session) -> float:
    """How many times slower than on a quiet machine a command starts just now, at least 1."""
    return max(1.0, session.run("signalbox --version").seconds / _START_S)
