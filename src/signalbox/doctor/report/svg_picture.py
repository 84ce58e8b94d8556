"""The picture of a listener as SVG: three columns of boxes, names → IP addresses → nodes; the wrong ones red.

The colors are variables of the page, `--good`, `--warm` and `--card`.
"""

from __future__ import annotations

from html import escape

from signalbox.doctor.report.picture import Arrow

_COLUMNS = (10, 340, 640)
_WIDTHS = (290, 260, 290)
_ROW, _BOX, _TOP = 34, 24, 10
_GOOD, _BAD = "var(--good)", "var(--warm)"
_MAX_CHARS = (37, 33, 37)
"""As many as a box holds in a monospaced font, whose characters are 0.6 of its size wide."""


def svg_picture(arrows: list[Arrow]) -> str:
    """An `svg` element. Boxes with the same text in one column are one box."""
    columns: list[dict[str, bool]] = [{}, {}, {}]
    for arrow in arrows:
        for boxes, text in zip(columns, _texts(arrow), strict=True):
            boxes[text] = boxes.get(text, False) or arrow.wrong
    height = _TOP * 2 + max((len(boxes) for boxes in columns), default=1) * _ROW
    places = [{text: _TOP + index * _ROW for index, text in enumerate(boxes)} for boxes in columns]
    parts = [_line(arrow, places) for arrow in arrows]
    for index, boxes in enumerate(columns):
        parts += [_box(index, places[index][text], text, wrong) for text, wrong in boxes.items()]
    width = _COLUMNS[2] + _WIDTHS[2] + 10
    body = "".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="monospace" font-size="12" role="img" aria-label="names, addresses, nodes">{body}</svg>'
    )


def _texts(arrow: Arrow) -> tuple[str, str, str]:
    return f"{arrow.address} ({arrow.role})", arrow.ip, arrow.node


def _color(wrong: bool) -> str:
    return _BAD if wrong else _GOOD


def _line(arrow: Arrow, places: list[dict[str, int]]) -> str:
    texts = _texts(arrow)
    lines = []
    for index in (0, 1):
        x1, x2 = _COLUMNS[index] + _WIDTHS[index], _COLUMNS[index + 1]
        y1, y2 = places[index][texts[index]] + _BOX // 2, places[index + 1][texts[index + 1]] + _BOX // 2
        lines.append(
            f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{_color(arrow.wrong)}" '
            f'stroke-width="{2 if arrow.wrong else 1}"/>'
        )
    return "".join(lines)


def _box(column: int, y: int, text: str, wrong: bool) -> str:
    limit = _MAX_CHARS[column]
    short = text if len(text) <= limit else f"{text[: limit - 1]}…"
    x = _COLUMNS[column]
    return (
        f'<g><title>{escape(text)}</title><rect x="{x}" y="{y}" width="{_WIDTHS[column]}" height="{_BOX}" rx="4" '
        f'fill="var(--card)" stroke="{_color(wrong)}"/><text x="{x + 8}" y="{y + 16}" fill="{_color(wrong)}">'
        f"{escape(short)}</text></g>"
    )
