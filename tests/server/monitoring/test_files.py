"""The files in deploy/monitoring/ and docs/monitoring.md match the tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.server.monitoring.files import FILES, main

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", sorted(FILES))
def test_the_file_is_current(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == FILES[name]()


def test_files_are_written_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    assert main(["--check"]) == 1
    assert len(capsys.readouterr().err.splitlines()) == len(FILES)
    assert main([]) == 0
    assert main(["--check"]) == 0
    (tmp_path / "docs" / "monitoring.md").write_text("changed")
    assert main(["--check"]) == 1
