"""Charts as SVG: well-formed for any values and names."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from signalbox.cli.demo.charts import MOST_DOTS, bars, quantile, quantile_dots


def test_bars_are_as_long_as_their_counts() -> None:
    picture = ElementTree.fromstring(bars([("UA", 200), ("<&'\">", 100), ("zero", 0)]))
    widths = [float(rect.attrib["width"]) for rect in picture.iter("rect")]
    assert widths[0] == pytest.approx(2 * widths[1])
    assert widths[2] == 1.0
    assert [text.text for text in picture.iter("text")][2] == "<&'\">"


@pytest.mark.parametrize("rows", [[], [("none", 0)]])
def test_bars_of_nothing(rows: list[tuple[str, int]]) -> None:
    assert ElementTree.fromstring(bars(rows)).tag == "svg"


@pytest.mark.parametrize(("values", "share", "found"), [([], 0.5, 0), ([1], 0.99, 1), ([1, 2, 3, 4], 0.5, 3)])
def test_quantiles(values: list[float], share: float, found: float) -> None:
    assert quantile(values, share) == found


@pytest.mark.parametrize(
    "series",
    [
        {},
        {"idle": []},
        {"idle": [0.0, 0.0]},
        {"a<b": [0.1, 1.0, 10.0]},
        {"many": [float(n) for n in range(5000)]},
        {"just over": [float(n) for n in range(799)]},
    ],
)
def test_dots_of_anything(series: dict[str, list[float]]) -> None:
    picture = ElementTree.fromstring(quantile_dots(series))
    assert len(list(picture.iter("circle"))) <= MOST_DOTS
    assert len(list(picture.iter("path"))) == 2 * len(series)
