"""The swap as a picture (SVG): a client, two addresses, two brokers; where the addresses lead, and where they led.

Both boxes of a broker's row are as wide as their text needs; colors are the classes of `common/report_style.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from signalbox.cli.demo.charts import WIDTH
from signalbox.cli.demo.stage import counted

_ROWS = (36, 166)
_BOX = 68  # height
_COLUMNS = ((0, 110), (190, 220), (490, 150))
"""Left side and width of the client, the addresses, the brokers."""
_HEIGHT = 300


def swap_picture(addresses: Mapping[str, str], rejected: int) -> str:
    """`addresses` are those of brokers 1 and 2 (`host:port` by name), `rejected` the connections answered with 129."""
    names = tuple(addresses)
    (client_x, client_width), (address_x, address_width), (broker_x, broker_width) = _COLUMNS
    middle = (_ROWS[0] + _ROWS[1]) // 2
    components = [
        *(
            f"<path class='path' fill='none' d='M{client_x + client_width} {middle + _BOX // 2}"
            f"L{address_x} {y + _BOX // 2}'/>"
            for y in _ROWS
        ),
        *(_line("path", own, own) for own in _ROWS),
        *(_line("swapped", own, other) for own, other in zip(_ROWS, reversed(_ROWS), strict=True)),
        _box(client_x, middle, client_width, "client", "idempotent"),
    ]
    for y, name in zip(_ROWS, names, strict=True):
        components.append(_box(address_x, y, address_width, addresses[name], f"address of {name.replace('-', ' ')}"))
        components.append(_box(broker_x, y, broker_width, name.replace("-", " "), "checks the identity"))
    components += [
        _legend(36, 268, "path", "before and after"),
        _legend(240, 268, "swapped", f"swapped: {counted(rejected, 'connection')} rejected, 129"),
    ]
    return f"<svg viewBox='0 0 {WIDTH} {_HEIGHT}' role='img' aria-label='swapped addresses'>{''.join(components)}</svg>"


def _line(kind: str, from_y: int, to_y: int) -> str:
    (_, _), (address_x, address_width), (broker_x, _) = _COLUMNS
    return (
        f"<path class='{kind}' fill='none' d='M{address_x + address_width} {from_y + _BOX // 2}"
        f"L{broker_x} {to_y + _BOX // 2}'/>"
    )


def _box(x: int, y: int, width: int, title: str, text: str) -> str:
    center = x + width // 2
    return (
        f"<rect class='box' x='{x + 1}' y='{y}' width='{width - 2}' height='{_BOX}' rx='8'/>"
        f"<text class='ink' x='{center}' y='{y + 28}' text-anchor='middle' font-size='16'>{escape(title)}</text>"
        f"<text class='soft' x='{center}' y='{y + 51}' text-anchor='middle' font-size='14'>{escape(text)}</text>"
    )


def _legend(x: int, y: int, kind: str, text: str) -> str:
    return (
        f"<path class='{kind}' fill='none' d='M{x} {y}H{x + 36}'/>"
        f"<text class='soft' x='{x + 46}' y='{y + 5}' font-size='15'>{escape(text)}</text>"
    )


def swap_caption(facts: Mapping[str, Any]) -> str:
    """What happened while the addresses were swapped."""
    return (
        f"For {facts['swapped_s']:.1f} s each address led to the other broker. A broker that is not the one meant"
        f" rejects the connection with REBOOTSTRAP_REQUIRED (129); the client then asked its bootstrap servers again"
        f" ({counted(facts['rebootstraps'], 'time')}) and sent all {facts['records']:,} records: each is in the topic"
        " once, in order within its partition."
    )
