"""`python -m tests.system.distribution.interpreters` prints the supported Python interpreters of this machine, one a
line: version and path. Those that are missing are named on standard error.

They are looked for on the PATH, and where pyenv and uv keep those that they have installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

SUPPORTED = ("3.11", "3.12", "3.13")
_PRINT_PATH = "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)"


def find_interpreter(version: str) -> str | None:
    """The path of a Python of this version, for example "3.12"."""
    home = Path.home()
    folders = [
        *Path(os.environ.get("PYENV_ROOT", home / ".pyenv")).glob(f"versions/{version}.*/bin"),
        *Path(os.environ.get("XDG_DATA_HOME", home / ".local" / "share")).glob(f"uv/python/cpython-{version}.*/bin"),
    ]
    for command in (shutil.which(f"python{version}"), *(str(folder / "python3") for folder in sorted(folders))):
        path = _path_of(command, version)
        if path is not None:
            return path
    return None


def _path_of(command: str | None, version: str) -> str | None:
    """Where the interpreter is; None if it does not start (pyenv has commands for versions that are not selected)."""
    if command is None:
        return None
    try:
        done = subprocess.run([command, "-c", _PRINT_PATH], capture_output=True, text=True, timeout=60)
    except OSError:
        return None
    actual, _, path = done.stdout.strip().partition(" ")
    return path if done.returncode == 0 and actual == version else None


def main() -> None:
    for version in SUPPORTED:
        path = find_interpreter(version)
        if path is None:
            print(f"Python {version} is not on this machine", file=sys.stderr)
        else:
            print(version, path)


if __name__ == "__main__":
    main()
