"""What is wrong with the text of a page in a view, found by `text_faults.js` in the browser."""

from __future__ import annotations

import re
import tempfile
from html import unescape
from pathlib import Path

from tools.report_pictures.browser import View, page_after_scripts

_SCRIPT = Path(__file__).with_name("text_faults.js")
_RESULT = re.compile(r'<pre id="text-faults">(.*?)</pre>', re.DOTALL)


def text_faults(page: Path, view: View) -> list[str]:
    """A line for each fault: text that leaves its box, covers other text, is crossed by a line, or cannot be read.

    `page` is an HTML page or an SVG drawing. RuntimeError if the browser or the script failed, ValueError for any other
    file.
    """
    if page.suffix not in (".html", ".svg"):
        raise ValueError(f"{page} is neither HTML nor SVG")
    with tempfile.TemporaryDirectory(prefix="signalbox-pages-") as folder:
        examined = Path(folder) / "page.html"
        examined.write_text(
            _as_html(page) + f"<script>{_SCRIPT.read_text(encoding='utf-8')}</script>", encoding="utf-8"
        )
        found = _RESULT.search(page_after_scripts(examined, view))
    if found is None:
        raise RuntimeError(f"{page}: the script of the check did not run to its end")
    return unescape(found[1]).splitlines()


def _as_html(page: Path) -> str:
    """The page with every `details` open; a drawing stands alone in a page, as wide as the window."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".svg":
        return f"<!doctype html><meta charset='utf-8'><body style='margin:0'>{text}"
    return text.replace("<details>", "<details open>")
