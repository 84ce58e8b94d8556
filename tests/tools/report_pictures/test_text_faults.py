"""The check of text in Chromium can fail: each page here has one fault, which it names."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.report_pictures.__main__ import main
from tools.report_pictures.browser import View
from tools.report_pictures.pages import Page
from tools.report_pictures.text_faults import text_faults

pytestmark = [pytest.mark.system, pytest.mark.timeout(900)]  # the first test may fetch Chromium
NARROW = View(480, "light")
BOX = "<rect x='10' y='10' width='100' height='30' fill='#fff' stroke='#000'/>"


def html(body: str) -> str:
    return f"<!doctype html><meta charset='utf-8'><body style='margin:0;font-size:16px'>{body}"


def svg(body: str) -> str:
    return html(f"<svg viewBox='0 0 480 200' width='480' font-size='16'>{body}</svg>")


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        (html("<p style='width:60px;white-space:nowrap'>far too long</p>"), 'P "far too long" needs'),
        (html("<p style='width:900px'>short</p>"), "the page needs 900 px"),
        (
            html("<div style='width:60px;overflow-x:auto'><table><td>unbreakable</table></div>"),
            'DIV "unbreakable" needs',
        ),
        (html("<p style='height:20px;margin:0'>a<br>second<br>line</p>"), '"line" leaves its P'),
        (html("<p style='color:#bbb'>pale</p>"), '"pale" has a contrast of 1.9'),
        (html("<p style='font-size:6px'>tiny</p>"), '"tiny" is 6.0 px high'),
        (svg(BOX + "<text x='14' y='30'>longer than its box</text>"), "crosses the edge of a box"),
        (svg("<text x='400' y='30'>longer than the drawing</text>"), "leaves the drawing"),
        (svg("<text x='10' y='30'>one text</text><text x='40' y='34'>another</text>"), 'covers "one text"'),
        (svg("<text x='10' y='30'>crossed</text><path d='M0 25H200' stroke='#000'/>"), 'a line crosses "crossed"'),
        (svg("<rect width='200' height='50' fill='#333'/><text x='10' y='30'>dark</text>"), '"dark" has a contrast'),
    ],
)
def test_a_fault_is_named(tmp_path: Path, page: str, fault: str) -> None:
    file = tmp_path / "page.html"
    file.write_text(page, encoding="utf-8")
    assert [line for line in text_faults(file, NARROW) if fault in line], text_faults(file, NARROW)


def test_a_page_without_faults_and_one_that_is_pale_in_the_dark(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    style = "<style>:root{color-scheme:light dark}b{color:#111}</style>"
    file.write_text(html(f"{style}<p>text <b>strong</b></p>") + svg(f"{BOX}<text x='20' y='30'>fits</text>"))
    assert text_faults(file, NARROW) == []
    assert text_faults(file, View(480, "dark")) == ['"strong" has a contrast of 1.0']


def test_another_file_is_not_examined(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="neither HTML nor SVG"):
        text_faults(tmp_path / "page.txt", NARROW)


def test_a_page_with_a_fault_fails_the_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def write(folder: Path) -> Path:
        file = folder / "page.html"
        file.write_text(html("<p style='width:600px'>wider than a telephone</p>"))
        return file

    assert main([str(tmp_path / "pictures")], [Page("wide", "", write)]) == 1
    output = capsys.readouterr().out
    assert "FAILED  wide, 480 px, light\n    the page needs 600 px\n" in output
    assert output.endswith("2 passed, 2 failed\n")
    assert len(list((tmp_path / "pictures" / "wide").glob("*.png"))) == 4
