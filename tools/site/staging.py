"""The source of the site: the pages at their paths below the repository, so that links between them stay as they are.

README.md becomes index.md and gets the contents; README.md of a folder gets the other pages of the folder. A linked
file that is no page is copied (the site offers it as a download); a linked folder becomes a page that lists its files.
"""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

_LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)\s#]+)([^)\s]*)(?=\))")
_NAMED_HEADING = re.compile(r'^(#+ )<a id="([\w-]+)"></a>', re.MULTILINE)
_FENCE = re.compile(r"^(?:```|~~~).*?^(?:```|~~~)$", re.DOTALL | re.MULTILINE)
_CONTENTS = Path(__file__).with_name("contents.toml")


def stage(root: Path, target: Path, contents: Path = _CONTENTS) -> None:
    """Writes the source of the site into `target`, which is emptied first.

    Raises:
        FileNotFoundError: a page links to a file that is not there; the message names both.
    """
    shutil.rmtree(target, ignore_errors=True)
    for page in _pages(root):
        place = page.relative_to(root)
        text = _with_targets(page, root, target)
        if place == Path("README.md"):
            text += _contents(contents)
        elif page.name == "README.md":
            text += _toctree(["*"], caption="")
        _write(target / _staged(place), text)


def _pages(root: Path) -> Iterator[Path]:
    yield from (root / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))
    yield from sorted((root / "docs").rglob("*.md"))


def _staged(place: Path) -> Path:
    return Path("index.md") if place == Path("README.md") else place


def _with_targets(page: Path, root: Path, target: Path) -> str:
    """The text of a page whose links lead to files of the site; the files that are linked are staged."""

    def linked(match: re.Match[str]) -> str:
        file = (page.parent / match[1]).resolve()
        if not file.is_relative_to(root.resolve()) or not file.exists():
            raise FileNotFoundError(f"{page.relative_to(root)} links to {match[1]}, which is not there")
        place = file.relative_to(root.resolve())
        if place == Path("README.md"):
            return match[1].removesuffix("README.md") + "index.md" + match[2]
        if file.is_dir():
            _write(target / place / "index.md", _listing(file, place, target))
            return f"{match[1].rstrip('/')}/index.md"
        if file.suffix != ".md":
            _copy(file, target / place)
        return match[0]

    text = page.read_text(encoding="utf-8")
    pieces, end = [], 0
    for block in _FENCE.finditer(text):
        pieces += [_LINK.sub(linked, text[end : block.start()]), block[0]]
        end = block.end()
    links = "".join([*pieces, _LINK.sub(linked, text[end:])])
    return _NAMED_HEADING.sub(r"(\2)=\n\n\1", links)  # MyST knows the anchors of its own form only


def _listing(folder: Path, place: Path, target: Path) -> str:
    files = sorted(file for file in folder.iterdir() if file.is_file())
    for file in files:
        _copy(file, target / place / file.name)
    rows = "".join(f"- [{file.name}]({file.name})\n" for file in files)
    return f"---\norphan: true\n---\n\n# {place}\n\n{rows}"


def _contents(contents: Path) -> str:
    parts = tomllib.loads(contents.read_text(encoding="utf-8"))["part"]
    return "".join(_toctree([f"/{page}" for page in part["pages"]], part["caption"]) for part in parts)


def _toctree(pages: Sequence[str], caption: str) -> str:
    options = ":hidden:\n:titlesonly:\n" + (f":caption: {caption}\n" if caption else ":glob:\n")
    return "\n```{toctree}\n" + options + "\n" + "".join(f"{page}\n" for page in pages) + "```\n"


def _copy(file: Path, copy: Path) -> None:
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, copy)


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
