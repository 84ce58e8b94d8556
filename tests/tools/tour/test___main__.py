"""`make tour`: each step has a line, the last line counts them, the exit code says whether one failed."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from tools.tour.page import Command, steps

from tools.tour import __main__ as tour

_ROOT = Path(__file__).parents[3]
_TOURS = tomllib.loads((_ROOT / "tools" / "tour" / "tours.toml").read_text())


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tour, "enter", lambda arguments: True)
    monkeypatch.setattr(tour, "_ROOT", tmp_path)
    (tmp_path / "examples").mkdir()
    return tmp_path / "page.md"


def _run(page: Path, body: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, Sequence[str]]:
    page.write_text(f"```console\n{body}```\n")
    return tour.main([page.name]), capsys.readouterr().out.splitlines()


def test_steps_are_counted(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = _run(page, "$ echo one\none\n$ echo two\n", capsys)
    assert code == 0
    assert lines[-1] == "2 passed, 0 failed"
    assert lines[0].startswith("passed")
    assert lines[0].endswith("page.md:2 $ echo one")


def test_a_step_that_fails_is_shown(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = _run(page, "$ echo one\ntwo\n", capsys)
    assert code == 1
    assert lines[-1] == "0 passed, 1 failed"
    assert "      it printed" in lines


def test_a_page_without_a_step_fails(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(page, "", capsys)[0] == 1


def test_a_name_that_is_neither_tour_nor_page_is_rejected(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        tour.main(["nowhere"])
    assert "no such tour or page: nowhere" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(_TOURS.keys() - {"readme"}))
def test_each_tour_has_pages_with_wrong_inputs_that_fail_in_time(name: str) -> None:
    commands = [
        step
        for page in _TOURS[name]["pages"]
        for step in steps((_ROOT / page).read_text())
        if isinstance(step, Command)
    ]
    assert len(commands) > 10
    assert sum(1 for command in commands if command.exit_code and command.within_s) >= 3
