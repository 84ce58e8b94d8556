"""A reader's terminals: one bash for all commands of a page, and a process for each one that stays in the foreground.

Everything is in one folder: the home folder, the current folder and /tmp, which is replaced in commands and files.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import IO

_TMP = re.compile(r"(?<![\w.])/tmp/")
FOREGROUND = re.compile(r"signalbox (?:start\b|up\b(?!.*(?:--detach| -d\b)))")
READY = re.compile(r"bootstrap\.servers=| is ready$", re.MULTILINE)
_MARK = "SIGNALBOX_TOUR_FOLDER"
_SECONDS = 600.0


@dataclass(frozen=True)
class Result:
    """What a command printed on both outputs, its exit code (None: it had to be killed) and its time."""

    printed: str
    exit_code: int | None
    seconds: float


class Session:
    """Runs commands one after the other in `folder`; `programs` is the folder of `python` and `signalbox`.

    `linked` are files and folders of the repository that the page names; the session has copies.
    """

    def __init__(self, folder: Path, programs: Path, linked: Sequence[Path] = ()) -> None:
        self._folder = folder
        self._here = folder / "here"
        for made in (self._here, folder / "home", folder / "tmp"):
            made.mkdir(parents=True)
        for file in linked:
            self._copy(file)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SIGNALBOX_")}
        self._environment = environment | {
            "HOME": str(folder / "home"),
            "PATH": f"{programs}:{os.environ.get('PATH', '')}",
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),  # the pipeline's jars
            "COLUMNS": "200",
            "PYTHONUNBUFFERED": "1",
            "TZ": "UTC",
        }
        self._environment.pop("XDG_DATA_HOME", None)
        self._environment[_MARK] = str(folder)
        self._state = folder / "state"
        self._output = folder / "output"
        self._state.write_text(f"cd {self._here}\n")
        self._foreground: list[_Foreground] = []

    def write(self, name: str, text: str) -> None:
        file = self._here / self._moved(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self._moved(text), encoding="utf-8")

    def run(self, command: str) -> Result:
        """Runs a command until it ends; one of the foreground until it is ready.

        Variables, functions and the current folder are those that the last command left.
        """
        text = self._moved(command)
        if FOREGROUND.search(text):
            return self._start(text)
        script = f"shopt -s expand_aliases; source {self._state}\n{text}\n_code=$?\n{self._save()}exit $_code\n"
        started = time.monotonic()
        with self._output.open("w") as output:  # a file: a process that stays in the background may keep it open
            process = self._popen(script, output)
            try:
                code: int | None = process.wait(_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                code = None
        seconds = time.monotonic() - started
        return Result(self._shown(self._output.read_text(errors="replace")), code, seconds)

    def interrupt(self) -> list[tuple[str, Result]]:
        """Ctrl-C for each command of the foreground, the last first; returns commands and results."""
        results = [(each.command, each.interrupt()) for each in reversed(self._foreground)]
        self._foreground.clear()
        return results

    def close(self) -> None:
        """Kills what the page left running: every process that carries this session's mark."""
        mark = f"{_MARK}={self._folder}".encode()
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    os.kill(int(process.name), signal.SIGKILL)
            except OSError:
                continue  # it has ended, or belongs to another user

    def _save(self) -> str:
        return f"{{ export -p; declare -f; echo \"cd '$PWD'\"; }} > {self._state}\n"

    def _start(self, text: str) -> Result:
        foreground = _Foreground(text, self._popen(f"source {self._state}\nexec {text}\n"))
        result = foreground.wait_until_ready()
        if result.exit_code is None:
            self._foreground.append(foreground)
            return Result(self._shown(result.printed), 0, result.seconds)
        return Result(self._shown(result.printed), result.exit_code, result.seconds)

    def _popen(self, script: str, output: IO[str] | int = subprocess.PIPE) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [
                "env",
                "--default-signal=INT",
                "bash",
                "-c",
                script,
            ],  # a shell ignores it in what it runs in the background
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def _copy(self, file: Path) -> None:
        target = self._here / file.name
        if file.is_dir():
            shutil.copytree(file, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(file, target)
        for copy in [target] if target.is_file() else target.rglob("*.properties"):
            copy.write_text(self._moved(copy.read_text(encoding="utf-8")), encoding="utf-8")

    def _moved(self, text: str) -> str:
        return _TMP.sub(f"{self._folder}/tmp/", text)

    def _shown(self, printed: str) -> str:
        return printed.replace(f"{self._folder}/tmp/", "/tmp/").replace(f"{self._folder}/home", "~")


class _Foreground:
    """A command that runs until Ctrl-C. A thread collects its output, so that it never waits for a reader."""

    def __init__(self, command: str, process: subprocess.Popen[str]) -> None:
        self.command = command
        self._process = process
        self._printed: list[str] = []
        self._ready = Event()
        assert process.stdout is not None
        self._reader = Thread(target=self._read, args=(process.stdout,), daemon=True)
        self._reader.start()

    def wait_until_ready(self) -> Result:
        """The exit code is None if it runs."""
        started = time.monotonic()
        self._ready.wait(_SECONDS)
        return Result("".join(self._printed), self._process.poll(), time.monotonic() - started)

    def interrupt(self) -> Result:
        started = time.monotonic()
        os.killpg(self._process.pid, signal.SIGINT)
        try:
            code: int | None = self._process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            code = None
        self._reader.join()
        return Result("".join(self._printed), code, time.monotonic() - started)

    def _read(self, output: IO[str]) -> None:
        for line in output:
            self._printed.append(line)
            if READY.search(line):
                self._ready.set()
        self._process.wait()
        self._ready.set()
