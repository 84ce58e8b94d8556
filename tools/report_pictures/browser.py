"""Chromium without a window: what a page's script made of it, or a picture of it.

An installed one is used, else Debian's is unpacked under `build/` with the libraries that this machine lacks.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.system import provision

_PACKAGE = "chromium-headless-shell"
_TIMEOUT_S = 120
_SCHEMES = {"dark": 0, "light": 1}


@dataclass(frozen=True, slots=True)
class View:
    """How a page is looked at: the window's width in CSS pixels, and the color scheme, `light` or `dark`."""

    width: int
    scheme: str

    def __str__(self) -> str:
        return f"{self.width} px, {self.scheme}"


VIEWS = tuple(View(width, scheme) for width in (480, 1280) for scheme in ("light", "dark"))


@cache
def _program() -> tuple[str, str]:
    """The program, and the folders of its libraries as LD_LIBRARY_PATH."""
    for name in (_PACKAGE, "chromium"):
        if path := shutil.which(name):
            return path, ""
    folder = provision.unpacked_with_libraries(_PACKAGE)
    [program] = folder.glob(f"usr/lib/*/{_PACKAGE}")
    libraries = sorted({str(file.parent) for file in (folder / "usr" / "lib").rglob("*.so*")})
    return str(program), os.pathsep.join(libraries)


def page_after_scripts(page: Path, view: View) -> str:
    """The page as HTML after its scripts ran."""
    return _run(page, view, ["--dump-dom"])


def save_picture(page: Path, view: View, file: Path, height: int) -> None:
    """Writes what the window shows as PNG."""
    _run(page, view, [f"--screenshot={file}"], height)


def _run(page: Path, view: View, options: Sequence[str], height: int = 2000) -> str:
    program, libraries = _program()
    environment = {**os.environ, "LD_LIBRARY_PATH": libraries} if libraries else dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="signalbox-browser-") as profile:
        command = [
            *(
                program,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                f"--user-data-dir={profile}",
            ),
            *(f"--window-size={view.width},{height}", f"--blink-settings=preferredColorScheme={_SCHEMES[view.scheme]}"),
            *(*options, page.absolute().as_uri()),
        ]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_TIMEOUT_S)
    if done.returncode:
        raise RuntimeError(f"{program} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout
