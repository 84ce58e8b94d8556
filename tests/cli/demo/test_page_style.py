"""The style sheet: each color has a value in both schemes, each class of a drawing is defined."""

from __future__ import annotations

import re
from pathlib import Path

from signalbox.cli.demo.page import write_page
from signalbox.cli.demo.page_style import STYLE
from tests.cli.demo.samples import figures_of, stage_of


def test_each_color_has_a_value_in_both_schemes() -> None:
    light, dark = (set(re.findall(r"(--\w+):", block)) for block in re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL))
    assert light == dark == set(re.findall(r"var\((--\w+)\)", STYLE))


def test_each_class_and_color_of_the_page_is_defined(tmp_path: Path) -> None:
    text = write_page(stage_of(tmp_path), figures_of()).read_text().replace(STYLE, "")
    classes = {name for names in re.findall(r"class='(.*?)'", text) for name in names.split()}
    assert classes - set(re.findall(r"\.([a-z]+)", STYLE)) == set()
    assert set(re.findall(r"var\((--\w+)\)", text)) <= set(re.findall(r"(--\w+):", STYLE))
