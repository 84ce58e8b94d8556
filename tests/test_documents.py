"""The documents are consistent: cited numbers are explained, links have targets, decisions are numbered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from signalbox.broker.conformance import read_conformance
from tests.spec_numbers import NUMBERS

_ROOT = Path(__file__).parents[1]
_DOCS = _ROOT / "docs"
_PAGES = sorted([*_ROOT.glob("*.md"), *_DOCS.rglob("*.md")])
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
_SOURCES = ("src", "tools", "tests", "bench", "docs")


def _rows(page: Path) -> list[str]:
    """The first cell of each table row that begins with a requirement number."""
    return re.findall(r"^\| ([A-Z]\d*) \|", page.read_text(encoding="utf-8"), re.MULTILINE)


def test_each_number_that_tests_may_carry_is_explained_once() -> None:
    assert _rows(_DOCS / "requirements.md") == list(NUMBERS)


def test_conformance_names_requirements_that_exist() -> None:
    rows = read_conformance(_DOCS / "conformance.toml").requirements
    assert {row.name.partition(" ")[0] for row in rows} <= set(NUMBERS)


def test_decisions_have_a_number_each_and_a_row_in_the_index() -> None:
    pages = sorted(page.name for page in (_DOCS / "decisions").glob("[0-9]*.md"))
    numbers = [name[:4] for name in pages]
    assert numbers == [f"{number:04}" for number in range(1, len(pages) + 1)]
    index = (_DOCS / "decisions" / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| \[(\d{4})\]\((.+?)\) \|", index, re.MULTILINE) == list(zip(numbers, pages, strict=True))
    for name in pages:
        assert (_DOCS / "decisions" / name).read_text(encoding="utf-8").startswith(f"# {name[:4]} ")


def test_decisions_that_are_cited_exist() -> None:
    cited: dict[str, Path] = {}
    for folder in _SOURCES:
        for file in (_ROOT / folder).rglob("*.*"):
            if file.suffix in {".py", ".md", ".toml"}:
                cited |= dict.fromkeys(re.findall(r"\bdecision (\d+)", file.read_text(encoding="utf-8")), file)
    there = {page.name[:4] for page in (_DOCS / "decisions").glob("[0-9]*.md")}
    assert {number: file for number, file in cited.items() if number not in there} == {}


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(_ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = [link for link in _LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []
