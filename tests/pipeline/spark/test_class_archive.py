"""The archive that halves Spark's start."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

import pytest

from signalbox.pipeline.spark import class_archive
from signalbox.pipeline.spark.class_archive import class_archive_options, class_archive_path, write_class_archive
from signalbox.pipeline.spark.java import JavaRuntime

JAVA = JavaRuntime(Path("/java"), 17, "system")


def test_an_archive_belongs_to_one_java_and_is_used_when_it_is_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = class_archive_path(JAVA)
    assert path != class_archive_path(JavaRuntime(Path("/java"), 21, "system"))
    assert class_archive_options(JAVA) == []
    path.parent.mkdir()
    path.touch()
    assert f"-XX:SharedArchiveFile={path}" in class_archive_options(JAVA)


def test_a_process_that_waited_for_another_one_does_not_try_what_that_could_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    begun, ended, written = threading.Event(), threading.Event(), list[Path]()

    def write(path: Path, jars: tuple[Path, ...]) -> None:
        written.append(path)
        begun.set()
        assert ended.wait(60)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(class_archive, "find_java", lambda cache: JAVA)
    monkeypatch.setattr(class_archive, "_write", write)
    lock = fcntl.flock

    def flock(file: IO[str], how: int) -> None:
        try:
            lock(file, how)
        except BlockingIOError:
            ended.set()  # the second one waits
            raise

    monkeypatch.setattr(fcntl, "flock", flock)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(write_class_archive)
        assert begun.wait(60)
        second = threads.submit(write_class_archive)
        assert (first.result(60), second.result(60)) == (None, None)
    assert written == [class_archive_path(JAVA)]


@pytest.mark.system
@pytest.mark.timeout(300)
def test_it_is_written_once_and_a_session_starts_with_it(tmp_path: Path) -> None:
    written = write_class_archive()
    assert written is not None
    assert written.stat().st_size > 50_000_000
    assert write_class_archive() == written
    assert not (written.parent / f"archive-scratch-{os.getpid()}").exists()
    code = """
from pathlib import Path
import sys
from signalbox.pipeline.spark.session import SessionSettings, build_session, end_session
spark = build_session(SessionSettings(master="local[1]", quick=True, scratch_directory=Path(sys.argv[1])))
arguments = spark._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()
print(*arguments, sep="\\n")
end_session(spark)
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert f"-XX:SharedArchiveFile={written}" in answer.stdout.splitlines(), answer.stderr[-2000:]
