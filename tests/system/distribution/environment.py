"""A virtual environment outside the repository, with nothing but what was installed into it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
# What would let a program see the repository's own environment.
_NOT_PASSED = ("PYTHONPATH", "VIRTUAL_ENV", "MAKEFLAGS", "MAKELEVEL", "PYTEST_ADDOPTS", "SIGNALBOX_BOOTSTRAP")


@dataclass(frozen=True, slots=True)
class Environment:
    """`folder`: of the environment. `home`: the home and working directory of the programs that run in it."""

    folder: Path
    home: Path

    def run(self, program: str, *arguments: str, given: str = "", timeout_s: float = 110) -> str:
        """Standard output of a program of the environment. AssertionError with all output if it fails."""
        return run([str(self.folder / "bin" / program), *arguments], self.home, given, timeout_s)

    def install(self, *requirements: str) -> None:
        self.run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements,
                 timeout_s=900)  # fmt: skip

    @property
    def packages(self) -> Path:
        [folder] = self.folder.glob("lib/python*/site-packages")
        return folder


def new_environment(folder: Path, python: str) -> Environment:
    """An empty environment of this interpreter, in `folder`."""
    home = folder / "home"
    home.mkdir(parents=True)
    run([python, "-m", "venv", str(folder / "environment")], home, timeout_s=110)
    return Environment(folder / "environment", home)


def run(command: list[str], folder: Path, given: str = "", timeout_s: float = 110, home: Path | None = None) -> str:
    """Standard output of a command in `folder`, whose home it is unless `home` is given."""
    variables = {name: value for name, value in os.environ.items() if name not in _NOT_PASSED}
    variables["HOME"] = str(home or folder)
    # What pip has fetched already may be used: the home is empty only for our own programs.
    variables.setdefault("PIP_CACHE_DIR", str(Path.home() / ".cache" / "pip"))
    done = subprocess.run(
        command, cwd=folder, env=variables, input=given, capture_output=True, text=True, timeout=timeout_s
    )
    assert done.returncode == 0, f"{' '.join(command)} exited with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout
