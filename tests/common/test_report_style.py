"""The style sheet of the reports: each color has a value in both schemes. Which pages use it is a test of the pages."""

from __future__ import annotations

import re

from signalbox.common.report_style import REPORT_STYLE


def test_each_color_has_a_value_in_both_schemes() -> None:
    light, dark = (
        set(re.findall(r"(--\w+):", block)) for block in re.findall(r":root \{(.*?)\}", REPORT_STYLE, re.DOTALL)
    )
    assert light == dark >= set(re.findall(r"var\((--\w+)\)", REPORT_STYLE))


def test_tables_fold_before_they_are_too_narrow() -> None:
    narrow = REPORT_STYLE.split("@media (max-width: 60rem)")[1]
    assert "tr.head { display: none; }" in narrow
    assert "content: attr(data-name)" in narrow
