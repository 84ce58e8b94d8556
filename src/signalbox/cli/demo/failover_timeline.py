"""The killed controller on a time line (SVG): acknowledged records by time, the kill, the longest silence.

Times are seconds since the first record was sent; the axis counts from the kill.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from signalbox.cli.demo.charts import WIDTH

BIN_S = 0.1
_LEFT, _RIGHT, _TOP, _BASE, _HEIGHT = 10, WIDTH - 10, 62, 210, 244
_LABELS = 5  # whole seconds on the axis at most, so that they do not touch


def longest_silence(times: Sequence[float], until: float) -> tuple[float, float]:
    """Begin and end of the longest time without an acknowledgement, of ordered `times`; (0, until) without any."""
    return max(pairwise(times), key=lambda pair: pair[1] - pair[0], default=(0.0, until))


def failover_timeline(times: Sequence[float], killed_s: float, killed: int) -> str:
    """`times`: when each record was acknowledged, ordered. `killed`: the broker that was killed at `killed_s`."""
    end = max([*times, killed_s + 1.0])
    counts = [0] * (math.floor(end / BIN_S) + 1)
    for at in times:
        counts[math.floor(at / BIN_S)] += 1
    most = max(counts) or 1

    def x(at: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * at / (len(counts) * BIN_S)

    silent_from, silent_to = longest_silence(times, end)
    components = [
        f"<rect class='band' x='{x(silent_from):.1f}' y='{_TOP}' width='{max(1.0, x(silent_to) - x(silent_from)):.1f}'"
        f" height='{_BASE - _TOP}'/>"
    ]
    width = max(1.0, x(BIN_S) - _LEFT - 1)
    for number, count in enumerate(counts):
        height = (_BASE - _TOP) * count / most
        if count:
            components.append(
                f"<rect class='accent' x='{x(number * BIN_S):.1f}' y='{_BASE - height:.1f}' width='{width:.1f}'"
                f" height='{height:.1f}'/>"
            )
    components += [
        f"<line class='grid' x1='{_LEFT}' y1='{_BASE}' x2='{_RIGHT}' y2='{_BASE}'/>",
        f"<path d='M{x(killed_s):.1f} {_TOP - 28}V{_BASE}' stroke='var(--warm)' stroke-width='2'/>",
        _text("warm", x(killed_s), 24, f"SIGKILL to broker {killed}, the active controller"),
        _text("soft", x(killed_s), 50, f"longest silence {silent_to - silent_from:.2f} s", aside=8),
    ]
    step = max(1, math.ceil(end / _LABELS))
    first = -math.floor(killed_s / step) * step
    for second in range(first, math.floor(end - killed_s) + 1, step):
        at = x(killed_s + second)
        components.append(f"<line class='grid' x1='{at:.1f}' y1='{_BASE}' x2='{at:.1f}' y2='{_BASE + 6}'/>")
        components.append(_text("soft", at, _BASE + 24, f"{second:+d} s" if second else "0 s", centered=True))
    return f"<svg viewBox='0 0 {WIDTH} {_HEIGHT}' role='img' aria-label='failover'>{''.join(components)}</svg>"


def _text(kind: str, x: float, y: int, text: str, *, aside: int = 0, centered: bool = False) -> str:
    """Text at `x`; in the right half it ends there, so that it stays inside the picture."""
    half = 25
    if centered:
        anchor, x = "middle", min(max(x, half), WIDTH - half)
    elif x > WIDTH / 2:
        anchor, x = "end", x - aside
    else:
        anchor, x = "start", x + aside
    return f"<text class='{kind}' x='{x:.1f}' y='{y}' text-anchor='{anchor}' font-size='15'>{text}</text>"
