"""The views: narrow and wide, light and dark, and what the browser makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.report_pictures.browser import VIEWS, View, page_after_scripts, save_picture

SCRIPT = "document.title = innerWidth + ' ' + matchMedia('(prefers-color-scheme: dark)').matches"


def test_all_views() -> None:
    assert [str(view) for view in VIEWS] == ["480 px, light", "480 px, dark", "1280 px, light", "1280 px, dark"]


@pytest.mark.system
@pytest.mark.timeout(900)
def test_the_window_has_the_width_and_the_scheme_of_the_view(tmp_path: Path) -> None:
    page, picture = tmp_path / "page.html", tmp_path / "page.png"
    page.write_text(f"<!doctype html><p>text<script>{SCRIPT}</script>")
    assert "<title>480 true</title>" in page_after_scripts(page, View(480, "dark"))
    assert "<title>1280 false</title>" in page_after_scripts(page, View(1280, "light"))
    save_picture(page, View(480, "light"), picture, 300)
    assert picture.read_bytes().startswith(b"\x89PNG")
