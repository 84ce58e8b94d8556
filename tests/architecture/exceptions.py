"""The exceptions of a check: patterns of paths in `exceptions.toml`, each with its reason."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from tests.architecture.source_tree import SourceFile

EXCEPTIONS_FILE = Path(__file__).with_name("exceptions.toml")


def load_exceptions(check: str, path: Path = EXCEPTIONS_FILE) -> tuple[str, ...]:
    """The patterns of one check; `*` matches slashes too."""
    return tuple(tomllib.loads(path.read_text()).get(check, {}))


def is_excepted(path: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def unused_patterns(patterns: Sequence[str], files: Sequence[SourceFile]) -> list[str]:
    """Patterns that match neither a file nor a folder: their entries can be removed."""
    paths = {file.path for file in files} | {file.folder for file in files}
    return [pattern for pattern in patterns if not any(fnmatchcase(path, pattern) for path in paths)]
