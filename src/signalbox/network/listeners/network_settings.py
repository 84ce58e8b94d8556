"""The network's configuration: global values, and the settings of each listener (L5).

A listener's settings start from the global values; a key `listener.name.<lower-case name>.<key>` replaces one of them.
If `<key>` is not a known key, its first part is a SASL mechanism: `listener.name.<l>.<mechanism>.<key>` is stored under
`<mechanism>.<key>`. Mechanism keys without the listener prefix are ignored, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from signalbox.common.config.config_table import ConfigFault, Value, describe_type
from signalbox.network.config_rows import NETWORK_CONFIG, PREFIXED_KEYS
from signalbox.network.quotas.per_ip_overrides import parse_per_ip_overrides


@dataclass(frozen=True, slots=True)
class ListenerSettings:
    """The settings of one listener. `own` are the keys that are set for this listener only; `by_mechanism` has texts by
    `<lower-case mechanism>.<key>`."""

    values: Mapping[str, Value]
    own: frozenset[str]
    by_mechanism: Mapping[str, str]

    def number(self, key: str) -> int:
        value = self.values[key]
        assert isinstance(value, int)
        return value

    def text(self, key: str) -> str:
        """The value as text, "" if it is not set."""
        value = self.values[key]
        return "" if value is None else str(value)

    def names(self, key: str) -> list[str]:
        value = self.values[key]
        assert isinstance(value, list)
        return value

    def key_of(self, listener_name: str, key: str) -> str:
        """The key to change: the listener's own if it is set, else the key of all listeners."""
        return f"{listener_prefix(listener_name)}{key}" if key in self.own else key

    def for_mechanism(self, mechanism: str, key: str) -> str | None:
        """The per-mechanism text of `key`, None if it is not set."""
        return self.by_mechanism.get(f"{mechanism.lower()}.{key}")

    def of_mechanism(self, mechanism: str, key: str) -> Value:
        """The typed value of `key` for a mechanism, else for the listener, else the global one. An invalid text, which
        was reported as a fault, counts as not set."""
        text = self.for_mechanism(mechanism, key)
        if text is not None:
            with suppress(ValueError):
                return NETWORK_CONFIG[key].parse(text)
        return self.values[key]


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """Global values, and the settings of listeners by upper-case name."""

    everywhere: ListenerSettings
    listeners: Mapping[str, ListenerSettings]

    def listener(self, name: str) -> ListenerSettings:
        return self.listeners.get(name, self.everywhere)


def read_network_settings(
    config: Mapping[str, str], listener_names: Iterable[str]
) -> tuple[NetworkSettings, list[ConfigFault]]:
    """The settings of a configuration (key → text) and its faults; invalid values are replaced by defaults."""
    values, faults = NETWORK_CONFIG.read(config)
    listeners: dict[str, ListenerSettings] = {}
    for name in listener_names:
        listeners[name], more = _listener_settings(config, name, values)
        faults += more
    settings = NetworkSettings(ListenerSettings(values, frozenset(), {}), listeners)
    _check_combinations(settings.everywhere, config, faults)
    return settings, faults


def listener_prefix(name: str) -> str:
    """The prefix of keys for one listener (KIP-103)."""
    return f"listener.name.{name.lower()}."


def _listener_settings(
    config: Mapping[str, str], name: str, defaults: Mapping[str, Value]
) -> tuple[ListenerSettings, list[ConfigFault]]:
    prefix = listener_prefix(name)
    values = dict(defaults)
    own: set[str] = set()
    by_mechanism: dict[str, str] = {}
    faults = []
    for key, text in config.items():
        if not key.startswith(prefix) or key == prefix:
            continue
        local_key = key.removeprefix(prefix)
        if local_key in PREFIXED_KEYS:
            try:
                values[local_key] = NETWORK_CONFIG[local_key].parse(text)
                own.add(local_key)
            except ValueError as error:
                faults.append(
                    ConfigFault(key, text, str(error), f"Expected {describe_type(NETWORK_CONFIG[local_key])}")
                )
        else:
            mechanism, _, mechanism_key = local_key.partition(".")
            if mechanism_key:
                by_mechanism[f"{mechanism.lower()}.{mechanism_key}"] = text
            if mechanism_key in PREFIXED_KEYS:
                try:
                    NETWORK_CONFIG[mechanism_key].parse(text)
                except ValueError as error:
                    faults.append(
                        ConfigFault(key, text, str(error), f"Expected {describe_type(NETWORK_CONFIG[mechanism_key])}")
                    )
    return ListenerSettings(values, frozenset(own), by_mechanism), faults


def _check_combinations(settings: ListenerSettings, config: Mapping[str, str], faults: list[ConfigFault]) -> None:
    """Rules over several keys."""
    idle_ms = settings.number("connections.max.idle.ms")
    delay_key = "connection.failed.authentication.delay.ms"
    if 0 <= idle_ms <= settings.number(delay_key):
        faults.append(
            ConfigFault(
                delay_key,
                config.get(delay_key, ""),
                f"the delay is not below connections.max.idle.ms ({idle_ms})",
                "A delayed connection would count as idle: lower the delay",
            )
        )
    overrides_key = "max.connections.per.ip.overrides"
    overrides, problems = parse_per_ip_overrides(settings.text(overrides_key))
    faults += [
        ConfigFault(overrides_key, entry, problem, "Write 10.0.0.7:100, comma-separated") for entry, problem in problems
    ]
    if settings.number("max.connections.per.ip") == 0 and not overrides:
        faults.append(
            ConfigFault(
                "max.connections.per.ip",
                "0",
                "no client could connect",
                f"Allow some addresses in {overrides_key}, or raise the limit",
            )
        )
