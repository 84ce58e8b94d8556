"""What is run of a Markdown page: its code blocks, by the language that stands behind the three backticks.

- `console`: a line that begins with `$ ` is a command (`> ` continues it), the lines below it are its output. `...`
  stands for any text of a line, a line of `...` for any lines; no lines: the output is not compared. A last line
  `[exit 1 within 1 s]` gives the exit code and, if the command is to fail fast, the time; without it the code is 0.
- `sh`: commands that succeed, one a line.
- A command that runs until Ctrl-C gets it at the end of the page, or before the next such command.
- Any block below a line that ends with "`a name`:" is a file of that name. A `python` block without a name is run.
- `text` is what a program prints or a drawing, and is not run. Nor is a block below a line with "Not run by a test".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[^\n`]*)\n(?P<body>.*?)^ *```$", re.DOTALL | re.MULTILINE)
_FILE_NAME = re.compile(r"`([\w./-]+)`:$")
_EXIT = re.compile(r"\[exit (\d+)(?: within (\d+) s)?\]$")
ILLUSTRATION = "Not run by a test"
RUN = frozenset({"console", "sh", "python"})


@dataclass(frozen=True)
class Block:
    """A code block; `line` is the number of its first line, `above` the text line over it."""

    language: str
    body: str
    line: int
    above: str

    @property
    def file_name(self) -> str:
        """The name of the file that the block is, or nothing."""
        name = _FILE_NAME.search(self.above)
        return name[1] if name and self.language not in {"console", "sh", "text"} else ""

    @property
    def is_illustration(self) -> bool:
        return self.language == "text" or ILLUSTRATION in self.above


@dataclass(frozen=True)
class WriteFile:
    name: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """A command with what it should print (None: anything), its exit code and, for quick failures, the longest time."""

    text: str
    line: int
    output: tuple[str, ...] | None = None
    exit_code: int = 0
    within_s: int | None = None


def blocks(page: str) -> Iterator[Block]:
    for fence in _FENCE.finditer(page):
        before = page[: fence.start()].rstrip()
        indent = len(fence["indent"])
        body = "".join(row[indent:] if row.strip() else row for row in fence["body"].splitlines(keepends=True))
        above = before.rsplit("\n", 1)[-1].strip()
        yield Block(fence["language"].strip(), body, page.count("\n", 0, fence.start()) + 2, above)


def steps(page: str) -> list[WriteFile | Command]:
    """What a reader of the page does, in its order."""
    made: list[WriteFile | Command] = []
    for block in blocks(page):
        if block.is_illustration:
            continue
        if block.file_name:
            made.append(WriteFile(block.file_name, block.body, block.line))
        elif block.language == "console":
            made += _console(block)
        elif block.language == "sh":
            made += _shell(block)
        elif block.language == "python":
            name = f"line-{block.line}.py"
            made += [WriteFile(name, block.body, block.line), Command(f"python {name}", block.line)]
    return made


def _console(block: Block) -> Iterator[Command]:
    """The commands of a block with their output. Raises ValueError: output stands before the first command."""
    text, line = "", 0
    output: list[str] = []
    for number, row in enumerate(block.body.splitlines(), start=block.line):
        if row.startswith("$ "):
            if text:
                yield _command(text, line, output)
            text, line, output = row[2:], number, []
        elif row.startswith("> ") and text and not output:
            text += "\n" + row[2:]
        elif text:
            output.append(row)
        else:
            raise ValueError(f"line {number}: output without a command: {row}")
    if text:
        yield _command(text, line, output)


def _command(text: str, line: int, output: list[str]) -> Command:
    if output and (status := _EXIT.match(output[-1])):
        shown = tuple(output[:-1]) or None
        return Command(text, line, shown, int(status[1]), int(status[2]) if status[2] else None)
    return Command(text, line, tuple(output) or None)


def _shell(block: Block) -> Iterator[Command]:
    lines: list[str] = []
    for number, row in enumerate(block.body.splitlines(), start=block.line):
        if row.strip() or lines:
            lines.append(row)
        if lines and not row.endswith("\\"):
            if not row.lstrip().startswith("#"):
                yield Command("\n".join(lines), number - len(lines) + 1)
            lines = []
