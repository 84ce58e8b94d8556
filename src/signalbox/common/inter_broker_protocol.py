"""`inter.broker.protocol.version`: the release whose behavior a broker shows to other brokers (SPEC F17, L8).

A cluster gets new behavior in two rolling restarts: the first brings the software, the second raises this key. All
behavior that depends on the key is listed here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from signalbox.common.config.config_table import Value

INTER_BROKER_PROTOCOL_KEY = "inter.broker.protocol.version"

# Kafka's formats: a release, its bug-fix number, or an intermediate version before it (3.4, 3.4.1, 3.4-IV0).
_FORM = re.compile(r"(0\.\d+|\d+)\.(\d+)(?:\.\d+|-IV\d+)?")
_RELEASES = (
    *("0.8.0", "0.8.1", "0.8.2", "0.9.0", "0.10.0", "0.10.1", "0.10.2", "0.11.0", "1.0", "1.1"),
    *(f"2.{minor}" for minor in range(9)),
    *(f"3.{minor}" for minor in range(10)),
)
_ORDER = {release: number for number, release in enumerate(_RELEASES)}

FORWARDING_FROM = "3.4"
_FEATURES_REGISTERED_FROM = "2.7"


@dataclass(frozen=True, slots=True)
class InterBrokerProtocol:
    """A release of Kafka that could keep its metadata in ZooKeeper."""

    release: str

    @property
    def forwards(self) -> bool:
        """Whether all changes go to the active controller, from any client (KIP-590). Below this gate, brokers store
        changes of configs, ACLs, quotas, tokens and users themselves, and clients must find the controller for other
        changes."""
        return self._is_from(FORWARDING_FROM)

    @property
    def registers_features(self) -> bool:
        """Whether a broker's registration has version 5; below this gate it has version 4 (KIP-584)."""
        return self._is_from(_FEATURES_REGISTERED_FROM)

    def _is_from(self, release: str) -> bool:
        return _ORDER[self.release] >= _ORDER[release]


def read_inter_broker_protocol(text: str) -> InterBrokerProtocol:
    """ValueError if `text` is not a release of Kafka with a metadata store outside of its brokers."""
    form = _FORM.fullmatch(text.strip())
    release = f"{form[1]}.{form[2]}" if form is not None else ""
    if release not in _ORDER:
        raise ValueError(f"{text!r} is not one of Kafka's versions from {_RELEASES[0]} to {_RELEASES[-1]}")
    return InterBrokerProtocol(release)


def forwards(values: Mapping[str, Value]) -> bool:
    """Whether a broker with these typed values forwards."""
    return read_inter_broker_protocol(str(values[INTER_BROKER_PROTOCOL_KEY])).forwards


def is_inter_broker_protocol(value: Value) -> str | None:
    """The validator of a config row."""
    try:
        read_inter_broker_protocol(str(value))
    except ValueError as problem:
        return str(problem)
    return None
