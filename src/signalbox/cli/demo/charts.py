"""Two small charts as SVG text: horizontal bars, and dots on a logarithmic line with their quantiles.

Colors are the classes of the style sheet (`_STYLE` in `page.py`). The drawing is 640 units wide, so that its text
can be read on a telephone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from math import log10

WIDTH = 640
MOST_DOTS = 400  # per line; of more values, dots are drawn at even steps
_LABEL = 60  # half of the widest label of a quantile


def bars(rows: Sequence[tuple[str, int]]) -> str:
    """One bar per row, in the order of `rows` (largest first); the number is at the bar's end."""
    most = max((count for _, count in rows), default=0) or 1
    height, left = 26 * len(rows) + 8, 60
    components = []
    for position, (name, count) in enumerate(rows):
        y = 26 * position + 6
        width = max(1.0, (WIDTH - left - 110) * count / most)
        components.append(
            f"<text class='ink' x='{left - 10}' y='{y + 14}' text-anchor='end' font-size='15'>{escape(name)}</text>"
            f"<rect class='accent' x='{left}' y='{y}' width='{width:.1f}' height='18' rx='3'/>"
            f"<text class='soft' x='{left + width + 8:.1f}' y='{y + 14}' font-size='15'>{count:,}</text>"
        )
    return f"<svg viewBox='0 0 {WIDTH} {height}' role='img'>{''.join(components)}</svg>"


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which `share` of the ordered values lie; 0 without values."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def quantile_dots(series: Mapping[str, Sequence[float]]) -> str:
    """A line of dots per series (ordered milliseconds) on one logarithmic axis; the median is marked above it, p99
    below."""
    values = [value for ordered in series.values() for value in ordered if value > 0] or [1.0]
    low, high = math.floor(log10(min(values))), math.ceil(log10(max(values)))
    high = max(high, low + 1)
    left, right, row = 150, WIDTH - 40, 96
    height = row * len(series) + 44

    def x(value: float) -> float:
        return left + (right - left) * (log10(max(value, 10**low)) - low) / (high - low)

    components = []
    for power in range(low, high + 1):
        components.append(
            f"<line class='grid' x1='{x(10**power):.1f}' y1='6' x2='{x(10**power):.1f}' y2='{height - 30}'/>"
            f"<text class='soft' x='{x(10**power):.1f}' y='{height - 10}' text-anchor='middle' font-size='15'>"
            f"{10**power:g} ms</text>"
        )
    for position, (name, ordered) in enumerate(series.items()):
        y = row * position + 48
        components.append(f"<text class='ink' x='0' y='{y + 5}' font-size='15'>{escape(name)}</text>")
        step = max(1, math.ceil(len(ordered) / MOST_DOTS))
        for number, value in enumerate(ordered[::step]):
            offset = (number * 7) % 17 - 8
            components.append(
                f"<circle class='accent' cx='{x(value):.1f}' cy='{y + offset}' r='2' fill-opacity='.35'/>"
            )
        for share, label, label_y in ((0.5, "p50", y - 22), (0.99, "p99", y + 32)):
            at = quantile(ordered, share)
            middle = min(max(x(at), left + _LABEL), WIDTH - _LABEL)
            components.append(
                f"<path d='M{x(at):.1f} {y - 16}V{y + 16}' stroke='var(--warm)' stroke-width='2'/>"
                f"<text class='warm' x='{middle:.1f}' y='{label_y}' text-anchor='middle' font-size='15'>"
                f"{label} {at:,.2f} ms</text>"
            )
    return f"<svg viewBox='0 0 {WIDTH} {height}' role='img'>{''.join(components)}</svg>"
