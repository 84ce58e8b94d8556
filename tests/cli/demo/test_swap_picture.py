"""The swap as a picture: both addresses with both ways, and what came of it."""

from __future__ import annotations

from xml.etree import ElementTree

from signalbox.cli.demo.swap_picture import swap_caption, swap_picture
from tests.cli.demo.samples import FACTS


def test_two_addresses_lead_straight_and_crossed() -> None:
    picture = ElementTree.fromstring(swap_picture({"broker-1": "127.0.0.1:1", "broker-2": "127.0.0.1:<2"}, 12))
    texts = [text.text for text in picture.iter("text")]
    assert {"127.0.0.1:1", "127.0.0.1:<2", "broker 1", "broker 2", "client"} <= set(texts)
    assert "swapped: 12 connections rejected, 129" in texts
    crossed = [path.attrib["d"] for path in picture.iter("path") if path.attrib["class"] == "swapped"]
    assert crossed[:2] == ["M410 70L490 200", "M410 200L490 70"]


def test_the_caption_has_the_figures() -> None:
    caption = swap_caption(FACTS["misroute"])
    assert caption.startswith("For 4.2 s each address led to the other broker.")
    assert "(1 time) and sent all 3,000 records" in caption
