"""The demo's command: what it needs before it does anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from signalbox.cli.demo import run
from signalbox.cli.main import app


def test_a_missing_package_is_named_before_anything_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(run._PACKAGES, "no_such_module", "no-such-package")
    (tmp_path / "old").write_text("from an earlier demo")
    result = CliRunner().invoke(app, ["demo", "--folder", str(tmp_path)])
    assert result.exit_code == 2
    assert "the demo needs the Python packages no-such-package" in result.output
    assert (tmp_path / "old").exists()


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(app, ["demo", "--folder", str(tmp_path / "file" / "demo")])
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert "cannot be made: Not a directory" in result.output
