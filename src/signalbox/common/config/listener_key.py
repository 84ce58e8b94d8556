"""Config keys of one listener: `listener.name.<lower-case name>.<key>` and `listener.name.<name>.<mechanism>.<key>`
(L5)."""

from __future__ import annotations

from dataclasses import dataclass

from signalbox.common.config.config_table import ConfigRow, ConfigTable

LISTENER_PREFIX = "listener.name."


@dataclass(frozen=True, slots=True)
class ListenerKey:
    """The parts of a key. `mechanism` is "" if the key holds for the whole listener."""

    listener: str
    mechanism: str
    row: ConfigRow


def read_listener_key(key: str, table: ConfigTable) -> ListenerKey | None:
    """None if `key` is not a listener key, or if `table` does not allow it per listener (or per mechanism)."""
    if not key.startswith(LISTENER_PREFIX):
        return None
    listener, _, rest = key.removeprefix(LISTENER_PREFIX).partition(".")
    mechanism, name = "", rest
    if rest not in table:
        mechanism, _, name = rest.partition(".")
    row = table.get(name)
    if not listener or row is None or row.per_listener is None or (mechanism and not row.per_mechanism):
        return None
    return ListenerKey(listener, mechanism, row)
