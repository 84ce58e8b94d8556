"""`make docs` fails if Sphinx warns or a link of the built pages is broken. Sphinx itself runs in `make docs` alone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tools.site import __main__ as site

_ROOT = Path(__file__).parents[3]


def _builds(monkeypatch: pytest.MonkeyPatch, html: str, code: int = 0) -> None:
    def build(source: Path, target: Path) -> int:
        assert (source / "index.md").is_file()
        target.mkdir()
        (target / "index.html").write_text(html)
        names = (page.relative_to(source).with_suffix("").as_posix() for page in source.rglob("*.md"))
        (target / "searchindex.js").write_text(json.dumps(sorted(names)))
        return code

    monkeypatch.setattr(site, "build", build)


def test_a_whole_site_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _builds(monkeypatch, '<a href="#a" id="a">')
    assert site.main([str(tmp_path / "site")]) == 0
    assert capsys.readouterr().out == "1 pages, 1 links: 0 broken\n"


def test_a_broken_link_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _builds(monkeypatch, '<a href="#b" id="a">')
    assert site.main([str(tmp_path / "site")]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "1 pages, 1 links: 1 broken"


def test_a_warning_of_sphinx_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _builds(monkeypatch, "", code=1)
    assert site.main([str(tmp_path / "site")]) == 1


def test_the_locked_packages_have_hashes_and_no_address() -> None:
    locked = (_ROOT / "requirements" / "docs.txt").read_text()
    assert "://" not in locked
    entries = re.split(r"\n(?=\S)", locked.strip())
    assert all("==" in entry and "--hash=sha256:" in entry for entry in entries)
    wanted = re.findall(r"^([a-z-]+)>=", (_ROOT / "requirements" / "docs.in").read_text(), re.MULTILINE)
    assert wanted == ["furo", "myst-parser", "sphinx"]
    assert {entry.partition("==")[0] for entry in entries} >= set(wanted)
