"""A shell in a folder of its own for the commands that a page of docs/ shows."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.tour.page import blocks

ROOT = Path(__file__).parents[3]
_TIMEOUT_S = 120


def commands_of(page: str) -> Iterator[str]:
    """The commands of a page, in their order, each on one line; comments and illustrations are left out."""
    for block in blocks((ROOT / page).read_text()):
        if block.language in ("sh", "") and not block.is_illustration:
            lines = block.body.replace("\\\n", " ").splitlines()
            yield from (line for line in lines if line.strip() and not line.startswith("#"))


def block_of(page: str, language: str) -> str:
    """The first block of a language."""
    return next(block.body for block in blocks((ROOT / page).read_text()) if block.language == language)


class PageShell:
    """Runs commands with `signalbox` of this interpreter; the home folder is the current one."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        program = folder / "bin" / "signalbox"
        program.parent.mkdir()
        program.write_text(
            f"#!/bin/sh\nexec {sys.executable} -c 'from signalbox.cli.main import run; run()' \"$@\"\n",
            encoding="utf-8",
        )
        program.chmod(0o755)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SIGNALBOX_", "XDG_"))}
        self.environment = {**kept, "PATH": f"{program.parent}:{kept['PATH']}", "HOME": str(folder), **environment}
        self.environment["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)

    def write(self, name: str, text: str) -> None:
        file = self.folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def run(self, command: str, given: str = "") -> str:
        """The output of a command that must succeed; `export` holds for the commands behind it."""
        done = subprocess.run(
            ["bash", "-c", f"{command}\ncode=$?; env -0 > environment; exit $code"],
            cwd=self.folder,
            env=self.environment,
            input=given,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
        )
        assert done.returncode == 0, f"{command}\nexit code {done.returncode}\n{done.stdout}{done.stderr}"
        pairs = (self.folder / "environment").read_text().split("\0")
        self.environment = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        return done.stdout
