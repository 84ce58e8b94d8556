"""What a configuration that may start should be warned about: keys that nobody will look at, brokers that cannot be
told from clients. Kafka starts with unknown keys too; a misspelt one must at least be heard of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches

from signalbox.common.config_table import ConfigTable
from signalbox.network.config_rows import PREFIXED_KEYS
from signalbox.network.listener_table import ListenerTable
from signalbox.wiring.without_effect import WITHOUT_EFFECT

_LISTENER_PREFIX = "listener.name."


def doubtful_keys(given: Iterable[str], listener_names: Sequence[str], table: ConfigTable) -> Iterator[tuple[str, str]]:
    """(key, why it will not do anything)."""
    for key in given:
        doubt = _doubt(key, [name.lower() for name in listener_names], table)
        if doubt is not None:
            yield key, doubt


def _doubt(key: str, listener_names: Sequence[str], table: ConfigTable) -> str | None:
    if key in table:
        return _without_effect(key)
    if not key.startswith(_LISTENER_PREFIX):
        return f"is not a known key{_meant(key, [row.name for row in table])}"
    # listener.name.<listener>.<key>, or listener.name.<listener>.<mechanism>.<key> (L5)
    listener, _, rest = key.removeprefix(_LISTENER_PREFIX).partition(".")
    if listener not in listener_names:
        return f"is about a listener that is not in listeners{_meant(listener, listener_names)}"
    if rest in PREFIXED_KEYS:
        return _without_effect(rest)
    if rest.partition(".")[2] in table:
        return None
    if rest in table:
        return "cannot be set for one listener: it holds for the whole broker"
    return f"is not a known key{_meant(rest, sorted(PREFIXED_KEYS))}"


def _without_effect(key: str) -> str | None:
    return f"has no effect: {WITHOUT_EFFECT[key]}" if key in WITHOUT_EFFECT else None


def _meant(name: str, names: Sequence[str]) -> str:
    close = get_close_matches(name, names, n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def unknown_peers(given: Mapping[str, str], listeners: ListenerTable) -> Iterator[str]:
    """Brokers prove who they are by SASL or by a certificate. Where they cannot, whoever reaches the listener counts
    as a broker: an Envelope is as good as its sender says (F4)."""
    for name in dict.fromkeys((listeners.inter_broker_listener_name, listeners.control_plane_listener_name)):
        protocol = None if name is None else listeners.security_protocol_of(name)
        if name is None or protocol is None or protocol.uses_sasl:
            continue
        if not (protocol.uses_tls and _asks_for_certificates(given, name)):
            yield (
                f"listener {name} is {protocol.name}: brokers and clients cannot be told apart there, anybody who"
                " reaches it may speak as a broker. Use SASL or ssl.client.auth=required, or keep clients from that"
                " address"
            )


def _asks_for_certificates(given: Mapping[str, str], listener: str) -> bool:
    key = "ssl.client.auth"
    return given.get(f"{_LISTENER_PREFIX}{listener.lower()}.{key}", given.get(key, "none")) == "required"
