"""Warnings about a configuration that may start: keys that are not read, and listeners on which brokers cannot be
distinguished from clients. Kafka starts with unknown keys too; but a misspelt key must at least give a warning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from signalbox.broker.configs.kafka_dynamic_configs import KAFKA_DYNAMIC_CONFIGS
from signalbox.client.connection.oauth_login import LOGIN_CALLBACK_KEY
from signalbox.common.config.config_table import ConfigTable, read_listener_key, shown
from signalbox.common.config.old_keys import current_name, old_name_warning
from signalbox.common.config.properties_file import Properties
from signalbox.common.endpoint import SecurityProtocol
from signalbox.configuration.check.keys_of_kafka import KEYS_OF_KAFKA
from signalbox.configuration.check.without_effect import WITHOUT_EFFECT
from signalbox.network.config_rows import MECHANISM_KEYS, PREFIXED_KEYS
from signalbox.network.listeners.listener_table import ListenerTable
from signalbox.network.plane import CONTROL, CONTROLLER
from signalbox.network.sasl.sasl_mechanisms import CALLBACK_KEY

_SHOWN_CHARACTERS = 600
_LISTENER_PREFIX = "listener.name."
_CLIENT_AUTH = "ssl.client.auth"
_PER_MECHANISM = ("sasl.jaas.config", CALLBACK_KEY, LOGIN_CALLBACK_KEY)  # a broker reads nothing else
_FORCED = "control.plane.force.controller.requests.enable"
_CHECK, _METRICS_PORT = "signalbox.advertised.check", "signalbox.metrics.http.port"


def config_warnings(properties: Properties, listeners: ListenerTable, table: ConfigTable) -> tuple[str, ...]:
    """Returns all warnings; a warning about a key has the key's file and line."""
    originals, bound = properties.values, {row.name.lower(): row.security_protocol for row in listeners}
    elsewhere = {name.lower(): listeners.security_protocol_of(name) for name in listeners.settings_names}
    placed = [
        *doubtful_keys(
            originals, {**{name: each for name, each in elsewhere.items() if each is not None}, **bound}, table
        ),
        *mechanisms_not_enabled(originals, bound),
        *_keys_that_need_others(originals, listeners),
    ]
    twice = [
        f"{properties.origin}:{line}: {shown(key)} is set again in line {properties.lines[key]}, and that counts"
        for key, line in properties.duplicates
    ]
    return (
        *twice,
        *(f"{where}: {shown(old_name_warning(name))}" for name, where in properties.renamed),
        *(f"{properties.where(key)}: {shown(f'{key} {doubt}', _SHOWN_CHARACTERS)}" for key, doubt in placed),
        *unknown_peers(originals, listeners),
    )


def unknown_keys(properties: Properties, table: ConfigTable) -> tuple[str, ...]:
    """The warnings that can be given about a faulty configuration, whose listeners are not known: of the keys that no
    listener has."""
    return tuple(
        f"{properties.where(key)}: {shown(f'{key} {doubt}', _SHOWN_CHARACTERS)}"
        for key in properties.values
        if not key.startswith(_LISTENER_PREFIX) and (doubt := _doubt(key, {}, table))
    )


def doubtful_keys(
    originals: Mapping[str, str], protocols: Mapping[str, SecurityProtocol], table: ConfigTable
) -> Iterator[tuple[str, str]]:
    """Pairs (key, why it has no effect). `protocols` has the listeners' lower-case names as keys."""
    for key in originals:
        doubt = _doubt(key, protocols, table)
        if doubt is not None:
            yield key, doubt


def misspelt_key(key: str, table: ConfigTable) -> str | None:
    """Returns the text about a key that a broker of neither Signalbox nor Apache Kafka has; None for other keys."""
    name = current_name(key)
    known = name in table or name in KEYS_OF_KAFKA or name in KAFKA_DYNAMIC_CONFIGS
    return None if known or read_listener_key(name, table) is not None else unknown_key(name, table)


def unknown_key(key: str, table: ConfigTable) -> str:
    """Returns the text about a dynamic key that has no row: the key, escaped and shortened, and why it has no
    effect."""
    if key in KEYS_OF_KAFKA:
        return f"{shown(key)} has no effect: {KEYS_OF_KAFKA[key]}"
    if key in KAFKA_DYNAMIC_CONFIGS:
        return f"{shown(key)} has no effect: nothing in this release reads it"
    return f"{shown(key)} is not a known key{_meant(key, [row.name for row in table])}"


def _doubt(key: str, protocols: Mapping[str, SecurityProtocol], table: ConfigTable) -> str | None:
    if key in table:
        return _without_effect(key)
    if key in KEYS_OF_KAFKA:
        return f"has no effect: {KEYS_OF_KAFKA[key]}"
    if key.partition(".")[2] in MECHANISM_KEYS:
        return f"is read for one listener only: write {_LISTENER_PREFIX}<listener>.{key}"
    if not key.startswith(_LISTENER_PREFIX):
        return f"is not a known key{_meant(key, [row.name for row in table])}"
    # listener.name.<listener>.<key>, or listener.name.<listener>.<mechanism>.<key> (L5)
    listener = _listener_of(key, protocols)
    if listener is None:
        name = key.removeprefix(_LISTENER_PREFIX).partition(".")[0]
        return f"is about a listener that is not in listeners{_meant(name, list(protocols))}"
    rest = key.removeprefix(f"{_LISTENER_PREFIX}{listener}.")
    if rest in _PER_MECHANISM:
        return f"has no effect without a mechanism: write {_LISTENER_PREFIX}{listener}.<mechanism>.{rest}"
    if rest in PREFIXED_KEYS:
        return _without_effect(rest) or _without_use(rest, listener, protocols[listener])
    if rest.partition(".")[2] in MECHANISM_KEYS:
        return _without_use(rest.partition(".")[2], listener, protocols[listener])
    if rest in table:
        return "cannot be set for one listener: it holds for the whole broker"
    if rest.partition(".")[2] in table:
        return "cannot be set for one mechanism: it holds for the whole listener"
    return f"is not a known key{_meant(rest, sorted(PREFIXED_KEYS))}"


def _listener_of(key: str, protocols: Mapping[str, SecurityProtocol]) -> str | None:
    """The listener in a listener's own key; a listener's name may contain dots."""
    names = [name for name in protocols if key.startswith(f"{_LISTENER_PREFIX}{name}.")]
    return max(names, key=len, default=None)


def _without_effect(key: str) -> str | None:
    return f"has no effect: {WITHOUT_EFFECT[key]}" if key in WITHOUT_EFFECT else None


def _without_use(key: str, listener: str, protocol: SecurityProtocol) -> str | None:
    """TLS keys of a listener without TLS, SASL keys of a listener without SASL."""
    name = key.removeprefix("signalbox.")
    if (name.startswith("ssl.") and not protocol.uses_tls) or (name.startswith("sasl.") and not protocol.uses_sasl):
        return f"has no effect: the listener {listener.upper()} is {protocol.name}"
    return None


def _meant(name: str, names: Sequence[str]) -> str:
    from difflib import get_close_matches  # 0.2 MiB, which a correct configuration does without

    close = get_close_matches(name[:100], names, n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def mechanisms_not_enabled(
    originals: Mapping[str, str], protocols: Mapping[str, SecurityProtocol]
) -> Iterator[tuple[str, str]]:
    """Pairs (key, doubt) for login modules of mechanisms that their listener does not enable."""
    everywhere = originals.get("sasl.enabled.mechanisms", "GSSAPI")
    for key in originals:
        listener = _listener_of(key, protocols)
        if listener is None or not protocols[listener].uses_sasl:
            continue
        prefix = f"{_LISTENER_PREFIX}{listener}."
        mechanism, _, rest = key.removeprefix(prefix).partition(".")
        enabled_text = originals.get(f"{prefix}sasl.enabled.mechanisms", everywhere)
        enabled = [name.strip().lower() for name in enabled_text.split(",")]
        if rest in MECHANISM_KEYS and mechanism.lower() not in enabled:
            yield key, f"is about a mechanism that {listener.upper()} does not enable{_meant(mechanism, enabled)}"


def _keys_that_need_others(originals: Mapping[str, str], listeners: ListenerTable) -> Iterator[tuple[str, str]]:
    """Known keys that have no effect without another key."""
    if originals.get(_FORCED, "false").strip().lower() == "true" and listeners.control_plane_listener_name is None:
        yield _FORCED, "has no effect: control.plane.listener.name is not set"
    if originals.get(_CHECK, "").strip() == "refuse" and originals.get(_METRICS_PORT, "-1").strip() == "-1":
        yield _CHECK, f"cannot withhold readiness: there is no /ready without {_METRICS_PORT}"
    for key in _PER_MECHANISM:
        if key in originals:
            yield key, f"is not read by a broker: write {_LISTENER_PREFIX}<listener>.<mechanism>.{key}"
    if originals.get(_CLIENT_AUTH, "none") != "none":
        for row in listeners:
            own = f"{_LISTENER_PREFIX}{row.name.lower()}.{_CLIENT_AUTH}"
            if row.security_protocol is SecurityProtocol.SASL_SSL and own not in originals:
                yield _CLIENT_AUTH, f"does not hold on {row.name}, which is SASL_SSL: set {own} if it is meant to"


def unknown_peers(originals: Mapping[str, str], listeners: ListenerTable) -> Iterator[str]:
    """Warnings about listeners for brokers without SASL and without client certificates. There every client counts as a
    broker: an Envelope is only as trustworthy as its sender (F4)."""
    own = (row for row in listeners if row.inter_broker or row.plane in (CONTROL, CONTROLLER))
    for row in sorted(own, key=lambda row: not row.inter_broker):
        name, protocol = row.name, row.security_protocol
        if protocol.uses_sasl:
            continue
        if not (protocol.uses_tls and _asks_for_certificates(originals, name)):
            yield (
                f"listener {name} is {protocol.name}: brokers cannot be distinguished from clients there, any"
                " client that reaches it may act as a broker. Use SASL or ssl.client.auth=required, or keep clients"
                " from that address"
            )


def _asks_for_certificates(originals: Mapping[str, str], listener: str) -> bool:
    return (
        originals.get(f"{_LISTENER_PREFIX}{listener.lower()}.{_CLIENT_AUTH}", originals.get(_CLIENT_AUTH, "none"))
        == "required"
    )
