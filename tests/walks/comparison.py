"""Compares the walks on the page with recordings of the same request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tests.walks.recording import SOURCE
from tests.walks.table import is_counted

REPEATS = 5  # a file belongs to a walk if every recording has it: what happens by chance at the same time does not
_ROW = re.compile(r"^\| `([^`]+\.py)` \| `([^`]+)` \| .+ \|$", re.MULTILINE)
_COUNT = re.compile(r"^Files: (\d+)\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PageWalk:
    """One walk of the page: `calls` as in a recording, and the number of files below the table (-1: there is none)."""

    calls: list[str]
    files_counted: int


def read_walk(page: str, heading: str) -> PageWalk:
    """The walk of a section of the page; ValueError if there is no such section."""
    _, found, rest = page.partition(f"\n### {heading}\n")
    if not found:
        raise ValueError(f"docs/architecture.md has no section '### {heading}'")
    section = re.split(r"^##", rest, maxsplit=1, flags=re.MULTILINE)[0]
    count = _COUNT.search(section)
    calls = [f"{file} {function}" for file, function in _ROW.findall(section)]
    return PageWalk(calls, int(count[1]) if count else -1)


def files_of(calls: Sequence[str]) -> list[str]:
    """The files of the calls, each once."""
    return list(dict.fromkeys(call.partition(" ")[0] for call in calls))


def counted_calls(calls: Sequence[str]) -> list[str]:
    return [call for call in calls if is_counted(call.partition(" ")[0])]


def recorded_files(recordings: Sequence[Sequence[str]]) -> list[str]:
    """The counted files that all recordings have, in the order of the first."""
    common = set.intersection(*(set(files_of(recording)) for recording in recordings))
    return [file for file in files_of(counted_calls(recordings[0])) if file in common]


def differences(walk: PageWalk, recordings: Sequence[Sequence[str]]) -> list[str]:
    """What is wrong on the page, and what to do; empty if nothing is."""
    listed, recorded = files_of(walk.calls), recorded_files(recordings)
    problems = [
        f"{file}: not on the page. Add a row where it is called first, or leave what it does in walks.toml: "
        + ", ".join(call.partition(" ")[2] for call in recordings[0] if call.startswith(f"{file} "))
        for file in recorded
        if file not in listed
    ]
    for file in listed:
        if not (SOURCE / file).exists():
            problems.append(f"{file}: does not exist. Correct or remove its rows")
        elif file not in recorded:
            problems.append(f"{file}: the request does not pass it. Remove its rows")
    called = set.intersection(*map(set, recordings))
    problems += [
        f"{call}: not called. Name a function of the file that is"
        for call in walk.calls
        if call not in called and call.partition(" ")[0] in recorded
    ]
    if not problems:
        problems = _order_problems(walk.calls, recordings)
    if walk.files_counted != len(listed):
        problems.append(f"below the table: write 'Files: {len(listed)}', not {walk.files_counted}")
    return problems


def _order_problems(calls: list[str], recordings: Sequence[Sequence[str]]) -> list[str]:
    """Empty if one of the recordings calls the functions in this order: small parts run in one or the other order."""
    problems: list[list[str]] = []
    for recording in recordings:
        positions = [recording.index(call) for call in calls]
        problems.append(
            [
                f"{call}: called before {earlier}. Move its row up"
                for earlier, call, position, after in zip(calls, calls[1:], positions, positions[1:], strict=False)
                if after < position
            ]
        )
    return min(problems, key=len)
