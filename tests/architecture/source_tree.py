"""The files that the checks read. Each is read and parsed once; all checks share the result."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE_FOLDERS = ("src", "tools", "tests", "bench", "examples")
# Folders whose files have mirrored tests -> the folder of these tests.
TESTED_FOLDERS = {"src/signalbox/": "tests/", "tools/": "tests/tools/"}
PAGES = ("Makefile", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "pyproject.toml")
_TEXT_SUFFIXES = (".py", ".md", ".toml", ".sql")
# The word list and the debt contain the banned words and the old names of files.
_OWN_LISTS = ("tests/architecture/banned_words.toml", "tests/architecture/debt.toml")

# Each alternative begins with a literal: the search is then fast.
_STRING_OR_COMMENT = re.compile(
    r"""\"{3}(?:[^"\\]++|\\.|"(?!""))*+\"{3}|'{3}(?:[^'\\]++|\\.|'(?!''))*+'{3}"""
    r"""|"(?:[^"\\\n]++|\\.)*+"|'(?:[^'\\\n]++|\\.)*+'|#[^\n]*""",
    re.DOTALL,
)


@dataclass(frozen=True)
class SourceFile:
    """A text file of the repository; `path` is relative to the root, with slashes."""

    path: str
    text: str

    @property
    def is_python(self) -> bool:
        return self.path.endswith(".py")

    @property
    def is_tested(self) -> bool:
        """Whether the file is below a folder whose files have mirrored tests."""
        return self.path.startswith(tuple(TESTED_FOLDERS))

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @cached_property
    def rows(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def line_starts(self) -> list[int]:
        """The position of each line in the text."""
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    @cached_property
    def lines(self) -> int:
        return self.text.count("\n")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    @cached_property
    def calls(self) -> list[ast.Call]:
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]

    @cached_property
    def comparisons(self) -> list[ast.Compare]:
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.Compare)]

    @cached_property
    def code_rows(self) -> list[str]:
        """The lines of the text without comments and strings."""
        code = _STRING_OR_COMMENT.sub(lambda match: "\n" * match[0].count("\n"), self.text)
        return code.split("\n")

    @cached_property
    def code_lines(self) -> int:
        """Lines with code: docstrings, comments and empty lines do not count."""
        return sum(1 for line in self.code_rows if line.strip())


@cache
def repository_files() -> tuple[SourceFile, ...]:
    """All files that a check reads, sorted by path."""
    paths = [ROOT / page for page in PAGES]
    for folder in (*CODE_FOLDERS, "docs"):
        paths += (path for path in (ROOT / folder).rglob("*") if path.suffix in _TEXT_SUFFIXES)
    names = sorted(path.relative_to(ROOT).as_posix() for path in paths)
    return tuple(SourceFile(name, (ROOT / name).read_text()) for name in names if name not in _OWN_LISTS)
