"""The mirror: `src/signalbox/<folder>/<file>.py` is tested by `tests/<folder>/test_<file>.py`, and
`tools/<folder>/<file>.py` by `tests/tools/<folder>/test_<file>.py`."""

from __future__ import annotations

from collections.abc import Sequence

from tests.architecture.exceptions import is_excepted
from tests.architecture.excess import Excess, excess_at
from tests.architecture.source_tree import TESTED_FOLDERS, SourceFile

_UNTESTED_NAMES = ("__init__.py", "__main__.py")


def mirrored_path(source: str) -> str:
    """The path of the test of a source file."""
    [(root, tests)] = [pair for pair in TESTED_FOLDERS.items() if source.startswith(pair[0])]
    folder, slash, name = source.removeprefix(root).rpartition("/")
    return f"{tests}{folder}{slash}test_{name}"


def files_without_test(files: Sequence[SourceFile], exceptions: Sequence[str]) -> list[Excess]:
    """Source files without a test file of their own."""
    paths = {file.path for file in files}
    return [
        excess_at(file.path, 1, f"no {mirrored_path(file.path)}: write it, or name the file in exceptions.toml")
        for file in files
        if file.is_python and file.is_tested and file.name not in _UNTESTED_NAMES
        if not is_excepted(file.path, exceptions) and mirrored_path(file.path) not in paths
    ]
