"""The check of the built pages names each link, anchor and loaded file that leads nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.site.built_pages import faults, links, unsearchable


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "style sheet.css").touch()
    (tmp_path / "index.html").write_text('<h1 id="top">T</h1><a href="docs/a.html#part">a</a><a href="#top">t</a>')
    (tmp_path / "docs" / "a.html").write_text(
        '<link href="style%20sheet.css"><a href="../index.html">up</a><p id="part">'
    )
    return tmp_path


def _add(site: Path, html: str) -> None:
    with (site / "index.html").open("a") as page:
        page.write(html)


def test_a_site_whose_links_all_lead_somewhere_has_no_fault(site: Path) -> None:
    assert faults(site) == []
    assert links(site) == 3


@pytest.mark.parametrize(
    ("html", "fault"),
    [
        ('<a href="gone.html">', "index.html: gone.html leads to no file"),
        ('<a href="docs/">', "index.html: docs/ leads to no file"),
        ('<a href="#gone">', "index.html: #gone leads to no anchor of index.html"),
        ('<a href="docs/a.html#gone">', "index.html: docs/a.html#gone leads to no anchor of docs/a.html"),
        ('<img src="gone.svg">', "index.html: gone.svg leads to no file"),
        ('<script src="https://example.org/x.js">', "index.html loads https://example.org/x.js from another host"),
    ],
)
def test_what_leads_nowhere_is_named(site: Path, html: str, fault: str) -> None:
    _add(site, html)
    assert faults(site) == [fault]


@pytest.mark.parametrize(
    "html", ['<a href="https://example.org">', '<a href="mailto:a@example.org">', '<img src="data:,">']
)
def test_links_to_other_hosts_are_not_followed(site: Path, html: str) -> None:
    _add(site, html)
    assert faults(site) == []


def test_a_site_without_a_page_is_a_fault(tmp_path: Path) -> None:
    assert faults(tmp_path) == [f"{tmp_path} has no page"]


def test_pages_that_the_search_lacks_are_named(site: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "docs").mkdir(parents=True)
    (source / "index.md").touch()
    (source / "docs" / "a.md").touch()
    (site / "searchindex.js").write_text('Search.setIndex({"docnames":["index"]})')
    assert unsearchable(site, source) == ["docs/a"]
