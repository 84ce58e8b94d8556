"""The rules of the lines of a broker. Lines in front of TLS have none: their bytes cannot be read."""

from __future__ import annotations

from signalbox.testing.faults.fault import address_line, lines_of
from signalbox.testing.switchboard import Switchboard
from signalbox.testing.wire.request_rule import LineRules

_FIRST_LINE = address_line(0).removesuffix("0")


def rules_of(board: Switchboard, node: int | None) -> list[LineRules]:
    """The rules of a broker's lines, of all brokers' lines if `node` is None. ValueError if clients use TLS."""
    names = [name for name in board.names() if name.startswith(_FIRST_LINE)]
    nodes = [node] if node is not None else [int(name.removeprefix(_FIRST_LINE)) for name in names]
    found = [line.rules for each in nodes for line in lines_of(board, each)]
    rules = [each for each in found if each is not None]
    if len(rules) != len(found):
        raise ValueError("the fault reads requests, and clients of this cluster use TLS: take PLAINTEXT or SASL_PLAINTEXT")
    return rules
