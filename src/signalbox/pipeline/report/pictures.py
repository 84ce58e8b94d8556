"""The pictures of the report as SVG text. All are 460 units wide, so that a phone shows their text at its own size, and
use the colors of the common style sheet, which has a dark mode. Texts are cut to the width of their column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import log10
from typing import Any

WIDTH = 460
FONT_SIZE = 12
CHARACTER_WIDTH = 0.62 * FONT_SIZE  # of the widest usual characters
_ROW = 24
_PLANES = ("accent", "warm", "soft")


def cut(text: str, width: float) -> str:
    """The text, or as much of it as fits into the width with an ellipsis."""
    characters = int(width / CHARACTER_WIDTH)
    return text if len(text) <= characters else text[: max(0, characters - 1)] + "…"


def _text(x: float, y: float, text: str, width: float, *, anchor: str = "start", style: str = "ink") -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' class='{style}'>{escape(cut(text, width))}</text>"


def _svg(height: float, title: str, parts: Iterable[str]) -> str:
    label = escape(title, quote=True)
    return f"<svg viewBox='0 0 {WIDTH} {height:.0f}' role='img' aria-label='{label}'>{''.join(parts)}</svg>"


def talk_picture(rows: Sequence[Mapping[str, Any]], most: int = 10) -> str:
    """Who talks to whom: the clients with most requests on the left, brokers with their listeners on the right. A line
    is the thicker the more requests there are."""
    pairs: dict[tuple[str, str], int] = {}
    clients: dict[str, int] = {}
    for row in rows:
        client = row["client_id"] or row["principal"]
        pair = (client, f"{row['broker_id']} {row['listener']}")
        pairs[pair] = pairs.get(pair, 0) + row["requests"]
        clients[client] = clients.get(client, 0) + row["requests"]
    left = sorted(clients, key=lambda name: -clients[name])[:most]
    right = sorted({target for client, target in pairs if client in left})
    height = _ROW * max(len(left), len(right), 1) + 10
    column = 165.0
    y_left = {name: _spread(number, len(left), height) for number, name in enumerate(left)}
    y_right = {name: _spread(number, len(right), height) for number, name in enumerate(right)}
    parts = []
    for (client, target), count in sorted(pairs.items(), key=lambda item: item[1]):
        if client in y_left:
            parts.append(
                f"<line x1='{column + 5}' y1='{y_left[client] - 4:.1f}' x2='{WIDTH - column - 5}'"
                f" y2='{y_right[target] - 4:.1f}' class='link' stroke-width='{1 + 1.2 * log10(max(count, 1)):.1f}'>"
                f"<title>{escape(client)} → {escape(target)}: {count:,} requests</title></line>"
            )
    parts += [_text(column, y, name, column, anchor="end") for name, y in y_left.items()]
    parts += [_text(WIDTH - column, y, name, column) for name, y in y_right.items()]
    return _svg(height, "Clients and the brokers that they talk to", parts)


def _spread(number: int, of: int, height: float) -> float:
    return (number + 0.5) * (height - 10) / of + 9


def bar_picture(rows: Sequence[tuple[str, float]], unit: str = "") -> str:
    """A bar per row, in their order: the name above it, the number at its end."""
    most = max((value for _, value in rows), default=0) or 1
    parts = []
    for number, (name, value) in enumerate(rows):
        y = 38 * number + 14
        number_text = f"{value:,.0f}{unit}"
        space = (len(number_text) + 1) * CHARACTER_WIDTH + 6
        width = max(2.0, (WIDTH - space) * value / most)
        parts.append(_text(0, y, name, WIDTH))
        parts.append(f"<rect x='0' y='{y + 5}' width='{width:.1f}' height='12' rx='3' class='accent'/>")
        parts.append(_text(width + 6, y + 15, number_text, space, style="soft"))
    return _svg(38 * len(rows) + 4, "Bars", parts)


def latency_picture(rows: Sequence[Mapping[str, Any]]) -> str:
    """Mean latency over time on a logarithmic axis, a line per plane."""
    planes: dict[str, dict[int, tuple[float, int]]] = {}
    for row in rows:
        if row["mean_us"] is not None and row["mean_us"] > 0:
            windows = planes.setdefault(row["plane"], {})
            total, count = windows.get(row["window_ms"], (0.0, 0))
            windows[row["window_ms"]] = (total + row["mean_us"] * row["requests"], count + row["requests"])
    points = {
        plane: [(window, total / max(count, 1) / 1000) for window, (total, count) in sorted(windows.items())]
        for plane, windows in planes.items()
    }
    times = [window for line in points.values() for window, _ in line] or [0]
    values = [value for line in points.values() for _, value in line] or [1.0]
    low, high = log10(min(values)), max(log10(max(values)), log10(min(values)) + 0.1)
    first, span = min(times), max(1, max(times) - min(times))

    def place(window: int, value: float) -> tuple[float, float]:
        return 64 + (WIDTH - 74) * (window - first) / span, 150 - 130 * (log10(value) - low) / (high - low)

    parts = [
        _text(58, 24, f"{10**high:,.3g} ms", 58, anchor="end", style="soft"),
        _text(58, 154, f"{10**low:,.3g} ms", 58, anchor="end", style="soft"),
    ]
    for number, (plane, line) in enumerate(sorted(points.items())):
        color = _PLANES[number % len(_PLANES)]
        places = [place(*point) for point in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f"<polyline points='{path}' class='line {color}-line'/>")
        parts += [f"<circle cx='{x:.1f}' cy='{y:.1f}' r='2.5' class='{color}'/>" for x, y in places]
        parts.append(f"<rect x='{64 + 130 * number}' y='166' width='12' height='12' class='{color}'/>")
        parts.append(_text(80 + 130 * number, 176, f"{plane or 'other'} plane", 110))
    return _svg(184, "Mean latency over time, per plane", parts)
