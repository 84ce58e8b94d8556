"""The check of the built pages: each link leads to a file of the site, each anchor is in its page, and a page loads
nothing from another host. It reads the HTML alone, whatever made it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {"script": "src", "img": "src", "link": "href", "source": "src", "iframe": "src"}


class _Page(HTMLParser):
    """The ids, the links and the loaded files of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value is not None}
        self.ids |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        name = _LOADED.get(tag)
        if name and name in values:
            self.loaded.append(values[name])


def faults(site: Path) -> list[str]:
    """One line for each link, anchor or loaded file of the site that leads nowhere, sorted by page."""
    pages = {file.resolve(): _Page(file.read_text(encoding="utf-8")) for file in sorted(site.rglob("*.html"))}
    if not pages:
        return [f"{site} has no page"]
    return [fault for file in pages for fault in _faults_of(file, pages, site.resolve())]


def unsearchable(site: Path, source: Path) -> list[str]:
    """The staged pages that the index of the search does not list."""
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    names = (page.relative_to(source).with_suffix("").as_posix() for page in sorted(source.rglob("*.md")))
    return [name for name in names if f'"{name}"' not in index]


def links(site: Path) -> int:
    """How many links the pages have."""
    return sum(len(_Page(file.read_text(encoding="utf-8")).links) for file in site.rglob("*.html"))


def _faults_of(file: Path, pages: Mapping[Path, _Page], site: Path) -> Iterator[str]:
    page = pages[file]
    name = file.relative_to(site)
    for link in [*page.links, *page.loaded]:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            if link in page.loaded and parts.scheme != "data":
                yield f"{name} loads {link} from another host"
            continue
        target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
        anchor = unquote(parts.fragment)
        if not target.is_file():
            yield f"{name}: {link} leads to no file"
        elif anchor and target in pages and anchor not in pages[target].ids:
            yield f"{name}: {link} leads to no anchor of {target.relative_to(site)}"
