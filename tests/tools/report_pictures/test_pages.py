"""Every source that writes HTML or SVG is examined by `make report-pictures`."""

from __future__ import annotations

import re
from pathlib import Path

from tools.report_pictures.pages import ROOT, all_pages

from signalbox.common.report_style import REPORT_STYLE

_WRITES = re.compile(r"<!doctype html>", re.IGNORECASE)


def test_no_page_of_the_project_is_missing() -> None:
    writers = {
        str(file.relative_to(ROOT))
        for file in (ROOT / "src").rglob("*.py")
        if _WRITES.search(file.read_text(encoding="utf-8"))
    }
    drawings = {str(file.relative_to(ROOT)) for file in (ROOT / "docs").rglob("*.svg")}
    assert {page.source for page in all_pages()} == writers | drawings


def test_each_page_is_written(tmp_path: Path) -> None:
    for page in all_pages():
        folder = tmp_path / page.name
        folder.mkdir()
        assert page.write(folder).parent == folder
        assert page.write(folder).stat().st_size > 1000


def test_each_page_has_the_common_style_sheet_and_defines_its_classes_and_colors(tmp_path: Path) -> None:
    for page in all_pages():
        if not page.source.endswith(".py") or page.name.startswith("last-"):
            continue
        text = page.write(tmp_path).read_text(encoding="utf-8")
        style, body = text.split("<style>")[1].split("</style>")
        assert style.startswith(REPORT_STYLE), page.name
        classes = {name for names in re.findall(r"""class=["']?([\w -]+)""", body) for name in names.split()}
        assert classes - set(re.findall(r"\.([a-z][a-z-]*)", style)) == set(), page.name
        assert set(re.findall(r"var\((--\w+)\)", style + body)) <= set(re.findall(r"(--\w+):", REPORT_STYLE)), page.name
        own = style.removeprefix(REPORT_STYLE)
        assert set(re.findall(r"#[0-9a-f]{3,6}\b", own + body)) == set(), "colors are in the common style sheet"
