"""The archive that halves Spark's start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from signalbox.pipeline.class_archive import class_archive_options, class_archive_path
from signalbox.pipeline.java import JavaRuntime

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


@pytest.mark.timeout(300)
def test_it_is_written_once_and_a_session_starts_with_it(tmp_path: Path) -> None:
    code = """
from signalbox.pipeline.class_archive import write_class_archive
from signalbox.pipeline.session import SessionSettings, build_session, end_session
path = write_class_archive()
assert path is not None and path == write_class_archive()
spark = build_session(SessionSettings(master="local[1]"))
arguments = spark._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()
assert f"-XX:SharedArchiveFile={path}" in list(arguments)
assert spark.range(3).count() == 3
end_session(spark)
print(path.stat().st_size > 50_000_000)
"""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=250, check=False, env=environment
    )
    assert answer.stdout == "True\n", answer.stderr[-2000:]
    left = sorted(path.name for path in (tmp_path / "signalbox").iterdir())
    assert len(left) == 1, left
