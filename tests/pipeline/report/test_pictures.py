"""The pictures are well-formed, and no text leaves them, however long the names are."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from signalbox.pipeline.report.pictures import (
    CHARACTER_WIDTH,
    WIDTH,
    bar_picture,
    cut,
    latency_picture,
    talk_picture,
)
from tests.pipeline.report.sample import figures

pytestmark = pytest.mark.spec("P2")
LONG = "<a-very-long-client-name-of-a-service-in-some-namespace-&-more>"


def texts(picture: str) -> list[str]:
    """The texts of a picture, each checked to be inside it."""
    root = ElementTree.fromstring(picture)
    height = float(root.attrib["viewBox"].split()[3])
    found = []
    for element in root.iter("text"):
        text, x = element.text or "", float(element.attrib["x"])
        width = len(text) * CHARACTER_WIDTH
        first = x - width if element.attrib["text-anchor"] == "end" else x
        assert first >= -1
        assert first + width <= WIDTH + 1, text
        assert 0 < float(element.attrib["y"]) <= height
        found.append(text)
    return found


def test_clients_and_brokers_are_connected() -> None:
    picture = talk_picture(figures()["requests"])
    assert texts(picture) == ["shop", "1 CLIENT", "1 REPLICATION"]
    assert picture.count("<line ") == 2


def test_the_busiest_clients_are_shown_and_long_names_are_cut() -> None:
    base = figures()["requests"][0]
    rows: list[dict[str, Any]] = [{**base, "client_id": f"client-{number}", "requests": number} for number in range(30)]
    rows.append({**base, "client_id": LONG, "listener": LONG, "requests": 10**9})
    shown = texts(talk_picture(rows, most=10))
    assert "client-29" in shown
    assert "client-5" not in shown
    assert any(text.startswith("<a-very") and text.endswith("…") for text in shown)


def test_bars_have_names_and_numbers() -> None:
    assert texts(bar_picture([("a", 12_345), (LONG, 1)])) == ["a", "12,345", cut(LONG, WIDTH), "1"]


def test_latency_has_a_line_per_plane() -> None:
    picture = latency_picture(figures()["latency"])
    assert picture.count("<polyline ") == 2
    assert texts(picture) == ["1.9 ms", "0.4 ms", "control plane", "data plane"]


@pytest.mark.parametrize("picture", [talk_picture([]), bar_picture([]), latency_picture([])])
def test_a_picture_of_nothing_is_a_picture(picture: str) -> None:
    texts(picture)
