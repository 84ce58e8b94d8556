from __future__ import annotations

from xml.etree import ElementTree

import pytest

from signalbox.doctor.checks.all_checks import find
from signalbox.doctor.report.picture import picture
from signalbox.doctor.report.svg_picture import svg_picture
from tests.doctor.samples import advertised, examination, listener

pytestmark = pytest.mark.spec("R8")

_SVG = "{http://www.w3.org/2000/svg}"


def test_boxes_are_shared_and_the_wrong_ones_are_red() -> None:
    rows = listener(advertised(1, 1), advertised(2, 1))
    root = ElementTree.fromstring(svg_picture(picture(rows, find(examination(rows)))))
    boxes = {box.find(f"{_SVG}title").text: box.find(f"{_SVG}rect").get("stroke") for box in root.iter(f"{_SVG}g")}  # type: ignore[union-attr]
    assert boxes == {
        "broker1:9092 (node 1)": "var(--good)",
        "broker2:9092 (node 2)": "var(--warm)",
        "10.0.0.1": "var(--good)",
        "10.0.0.2": "var(--warm)",
        "node 1": "var(--warm)",
    }
    assert len(list(root.iter(f"{_SVG}line"))) == 4


def test_texts_are_escaped_and_cut() -> None:
    rows = listener(advertised(1, 1, host="<script>" * 20))
    drawn = svg_picture(picture(rows, []))
    ElementTree.fromstring(drawn)
    assert "<script>" not in drawn
    assert "…" in drawn
    ElementTree.fromstring(svg_picture([]))
