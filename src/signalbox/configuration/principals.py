"""Principal builders, which make a principal from a connection's authentication: `principal.builder.class` by import
path, or Kafka's default with the rules of `ssl.principal.mapping.rules`; both for one listener or for all (L5, F7).

A builder is made with the configuration. It must be a principal serde too, since a broker that cannot serialize a
principal cannot forward requests: the start is rejected otherwise, as in Kafka. Below the gate of the roll-out, where
nothing is forwarded, it is only a warning. The serde of Envelopes is the builder of all listeners.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from signalbox.common.config.config_table import ConfigFault
from signalbox.common.inter_broker_protocol import FORWARDING_FROM, INTER_BROKER_PROTOCOL_KEY
from signalbox.network.listeners.network_settings import ListenerSettings, NetworkSettings
from signalbox.security.class_loading import load_class
from signalbox.security.principal import (
    AuthenticationEvidence,
    DefaultPrincipalBuilder,
    KafkaPrincipal,
    NoPrincipalSerde,
    PrincipalBuilder,
    PrincipalSerde,
)
from signalbox.security.principal_mapping import PrincipalMapping, parse_principal_mapping

log = logging.getLogger(__name__)

_CLASS_KEY, _RULES_KEY = "principal.builder.class", "ssl.principal.mapping.rules"
_OF_A_SERDE = ("serialize", "deserialize")
_BUILT_IN = (
    "",
    "signalbox.security.principal.DefaultPrincipalBuilder",
    "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
)


@dataclass(frozen=True, slots=True)
class Principals:
    """A principal builder that calls the builder of the listener; `serde` is for Envelopes, `of_all` is the builder of
    listeners without their own."""

    serde: PrincipalSerde = field(default_factory=DefaultPrincipalBuilder)
    of_all: PrincipalBuilder = field(default_factory=DefaultPrincipalBuilder)
    builders: dict[str, PrincipalBuilder] = field(default_factory=dict)

    def build(self, evidence: AuthenticationEvidence) -> KafkaPrincipal:
        return self.builders[evidence.listener_name].build(evidence)

    def renew(self, network: NetworkSettings, listener_names: Iterable[str], originals: Mapping[str, str]) -> None:
        """Make new builders for these listeners: they were added, or their rules changed. Faults are reported by the
        validator (`principal_faults`); if a builder cannot be made, its listener keeps the one it has, or gets the
        default."""
        for name in listener_names:
            faults: list[ConfigFault] = []
            builder = _builder_of(name, network, originals, self.of_all, faults)
            for fault in faults:
                log.error("Principal builder not replaced (listener=%s): %s", name, fault)
            if not faults or name not in self.builders:
                self.builders[name] = builder


def read_principals(
    network: NetworkSettings, listener_names: Iterable[str], originals: Mapping[str, str], forwards: bool = True
) -> tuple[Principals, list[ConfigFault]]:
    """Returns the builders of these listeners, and the faults of their keys; with `forwards` a serde is required."""
    names = list(listener_names)
    faults = principal_faults(network, names, forwards)
    if faults:
        return Principals(), faults
    of_all = _make("", network.everywhere, originals, {}, faults)
    builders: dict[str, PrincipalBuilder] = {}
    for name in names:
        builders[name] = _builder_of(name, network, originals, of_all, faults)
    if all(callable(getattr(of_all, name, None)) for name in _OF_A_SERDE):
        return Principals(of_all, of_all, builders), faults
    log.warning(
        "Principal builder %s is no principal serde: this broker neither forwards requests nor accepts forwarded"
        " ones, and does not start with %s=%s or above",
        *(network.everywhere.text(_CLASS_KEY), INTER_BROKER_PROTOCOL_KEY, FORWARDING_FROM),
    )
    return Principals(NoPrincipalSerde(), of_all, builders), faults


def _builder_of(
    name: str, network: NetworkSettings, originals: Mapping[str, str], of_all: Any, faults: list[ConfigFault]
) -> Any:
    settings = network.listener(name)
    mapping = parse_principal_mapping(settings.text(_RULES_KEY))
    shared = _CLASS_KEY not in settings.own and settings.text(_CLASS_KEY) not in _BUILT_IN
    return of_all if shared else _make(name, settings, originals, {name: mapping}, faults)


def principal_faults(
    network: NetworkSettings, listener_names: Iterable[str], forwards: bool = True
) -> list[ConfigFault]:
    """Returns the faults that show before a builder is made: its class is imported, not called."""
    faults = []
    for listener, settings in [("", network.everywhere), *((name, network.listener(name)) for name in listener_names)]:
        key, path = settings.key_of(listener, _CLASS_KEY), settings.text(_CLASS_KEY)
        if path not in _BUILT_IN:
            try:
                _check_class(load_class(path), forwards)
            except Exception as error:  # the import runs a user's module: it may raise anything
                faults.append(_fault(key, path, error))
        rules = settings.text(_RULES_KEY)
        try:
            parse_principal_mapping(rules)
        except ValueError as error:
            remedy = "Write RULE:pattern/replacement/, with L or U behind it, or DEFAULT, separated by commas"
            faults.append(ConfigFault(settings.key_of(listener, _RULES_KEY), rules, str(error), remedy))
    return list(dict.fromkeys(faults))


def _make(
    listener_name: str,
    settings: ListenerSettings,
    originals: Mapping[str, str],
    mappings: Mapping[str, PrincipalMapping],
    faults: list[ConfigFault],
) -> Any:
    path = settings.text(_CLASS_KEY)
    if path not in _BUILT_IN:
        try:
            return load_class(path)(originals)
        except Exception as error:  # a builder's constructor may raise anything
            faults.append(_fault(settings.key_of(listener_name, _CLASS_KEY), path, error))
    return DefaultPrincipalBuilder(mappings)


def _check_class(loaded_class: Any, forwards: bool) -> None:
    missing = [
        name
        for name in ("build", *(_OF_A_SERDE if forwards else ()))
        if not callable(getattr(loaded_class, name, None))
    ]
    if missing:
        raise TypeError(f"it has no {', '.join(missing)}; a builder must be a principal serde too")


def _fault(key: str, path: str, error: Exception) -> ConfigFault:
    remedy = "Name a class that takes the configuration and has build, serialize and deserialize"
    return ConfigFault(key, path, f"cannot be made: {error}", remedy)
