from __future__ import annotations

from pathlib import Path

from signalbox.doctor.finding import codes
from signalbox.doctor.pages import index, page_of, write_pages

_PAGES = Path(__file__).parents[2] / "docs" / "doctor"


def test_a_page_says_severity_key_causes_and_remedy() -> None:
    page = page_of(codes()["CROSSED"])
    assert page.startswith("# CROSSED: the addresses of nodes are exchanged\n\nSeverity: error (exit status 1).")
    assert "`advertised.listeners`" in page
    assert "Key to change: none." in page_of(codes()["UNVERIFIED"])


def test_the_pages_in_docs_are_those_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "GONE.md").write_text("")
    (tmp_path / "README.md").write_text("")
    write_pages(tmp_path)
    written = {page.name: page.read_text() for page in tmp_path.glob("*.md") if page.name not in ("README.md", "json.md")}
    kept = {page.name: page.read_text() for page in _PAGES.glob("*.md") if page.name not in ("README.md", "json.md")}
    assert written == kept, "run python -m signalbox.doctor.pages"
    assert (tmp_path / "README.md").exists()
    assert all(f"[{code}]({code}.md)" in index() for code in codes())
