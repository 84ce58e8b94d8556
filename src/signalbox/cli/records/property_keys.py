"""The keys of `produce -X` and `consume -X`. A mistyped one has no effect, so it ends the command."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from signalbox.cli.connect import fail, pairs

if TYPE_CHECKING:
    from signalbox.common.config.config_table import ConfigTable


def property_values(texts: list[str] | None, table: ConfigTable, *others: str) -> dict[str, str]:
    """`key=value` texts as a dict. A key that is not in the table, nor one of `others`, ends the command, with the key
    that may be meant."""
    values = pairs(texts, "--property")
    names = [*others, *(row.name for row in table)]
    for key in values:
        if key not in names:
            near = get_close_matches(key, names, 1, 0.8)
            remedy = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(sorted(names))}."
            fail(f"--property {key}: no such key: {remedy} --command-config has those of the connection.", code=2)
    return values
