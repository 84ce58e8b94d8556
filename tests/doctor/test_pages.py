from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.doctor.finding import codes
from signalbox.doctor.pages import index, page_of, write_pages

pytestmark = pytest.mark.spec("R8")

_PAGES = Path(__file__).parents[2] / "docs" / "doctor"


def _pages(folder: Path) -> dict[str, str]:
    """The rendered pages; README.md and json.md are not."""
    return {page.name: page.read_text() for page in folder.glob("*.md") if page.name not in ("README.md", "json.md")}


def test_a_page_says_severity_key_causes_and_remedy() -> None:
    page = page_of(codes()["CROSSED"])
    assert page.startswith("# CROSSED: the addresses of nodes are exchanged\n\nSeverity: error (exit status 1).")
    assert "`advertised.listeners`" in page
    assert "Key to change: none." in page_of(codes()["UNVERIFIED"])


def test_the_pages_in_docs_are_those_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "GONE.md").write_text("")
    (tmp_path / "README.md").write_text("")
    write_pages(tmp_path)
    written, kept = _pages(tmp_path), _pages(_PAGES)
    assert written == kept, "run python -m signalbox.doctor.pages"
    assert (tmp_path / "README.md").exists()
    assert all(f"[{code}]({code}.md)" in index() for code in codes())
