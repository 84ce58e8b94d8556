from __future__ import annotations

from pathlib import Path

import pytest
from tools.words.__main__ import main

from tests.architecture.source_tree import ROOT


def test_no_word_is_unknown_or_banned(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0, capsys.readouterr().out
    assert capsys.readouterr().out.splitlines()[-1].endswith("words: 0 unknown, 0 banned")


def test_an_unknown_word_is_listed_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "src" / "signalbox").mkdir(parents=True)
    (tmp_path / "src" / "signalbox" / "qwyx.py").write_text("")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "glossary.md").write_text((ROOT / "docs" / "glossary.md").read_text())
    assert main(["src/signalbox/qwyx"], tmp_path) == 1
    assert "qwyx: src/signalbox/qwyx.py" in capsys.readouterr().out
