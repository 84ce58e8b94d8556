"""Every source that writes HTML or SVG is examined by `make report-pictures`."""

from __future__ import annotations

import re
from pathlib import Path

from tools.report_pictures.pages import ROOT, all_pages

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
