"""Whether the cluster could follow a change of a broker's listeners. Checked before the change is stored, against the
registrations of all live brokers and the configs stored for them (KIP-226; the broker itself has checked the rest).

The check reads the advertised addresses in the configs. It does not know the broker's server.properties: the broker
checked the values there, which apply when a config is deleted, when it started.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from signalbox.common.endpoint import host_port, normalize_listener_name
from signalbox.controller.context import ControllerContext
from signalbox.metadata.entries.registration import BrokerRegistration
from signalbox.protocol.error_table import Error, KafkaError

_LISTENERS, _ADVERTISED, _PROTOCOLS = "listeners", "advertised.listeners", "listener.security.protocol.map"
LISTENER_KEYS = frozenset((_LISTENERS, _ADVERTISED, _PROTOCOLS))


@dataclass(frozen=True, slots=True)
class _AdvertisedAddress:
    """An advertised address from configs or from a registration."""

    listener: str
    host: str
    port: int


def reject_listeners(context: ControllerContext, broker_id: int, configs: Mapping[str, str]) -> None:
    """KafkaError(INVALID_REQUEST) with all reasons why peers could not follow a broker with these configs."""
    advertised = list(_advertised_in(configs))
    if not advertised:
        return
    own = context.brokers.get(broker_id)
    registrations = [broker.registration for number, broker in context.brokers.items() if number != broker_id]
    reasons = [
        *(_roles_lost(own.registration, advertised) if own is not None else ()),
        *(reason for peer in registrations for reason in _rejected_by(context, peer, advertised, _protocols(configs))),
        *(_unreachable_by(peer, own.registration, advertised) for peer in registrations if own is not None),
    ]
    found = [reason for reason in reasons if reason]
    if found:
        raise KafkaError(
            Error.INVALID_REQUEST, f"Invalid config value for resource BROKER {broker_id}: {'; '.join(found)}"
        )


def _roles_lost(own: BrokerRegistration, advertised: list[_AdvertisedAddress]) -> Iterator[str]:
    names = {each.listener for each in advertised}
    for role, listener in (
        ("inter-broker", own.inter_broker_listener),
        ("control plane", own.control_plane_listener),
        ("privileged", own.privileged_listener),
    ):
        if listener is not None and own.endpoint(listener) is not None and listener not in names:
            yield f"{listener} is the {role} listener of broker {own.broker_id}: its peers would not reach it"


def _rejected_by(
    context: ControllerContext,
    peer: BrokerRegistration,
    advertised: list[_AdvertisedAddress],
    protocols: Mapping[str, str],
) -> Iterator[str]:
    stored = context.configs.get(f"brokers/{peer.broker_id}", {})
    registered = [_AdvertisedAddress(each.listener_name, each.host, each.port) for each in peer.endpoints]
    taken = {(each.host.lower(), each.port) for each in (*registered, *_advertised_in(stored)) if each.port}
    for each in advertised:
        if (each.host.lower(), each.port) in taken:
            yield f"{host_port(each.host, each.port)} is an address of broker {peer.broker_id}"
        endpoint = peer.endpoint(each.listener)
        protocol = protocols.get(each.listener)
        if endpoint is not None and protocol is not None and protocol != endpoint.security_protocol.name:
            yield (
                f"broker {peer.broker_id} maps the listener {each.listener} to {endpoint.security_protocol.name}, not"
                f" to {protocol}"
            )


def _unreachable_by(peer: BrokerRegistration, own: BrokerRegistration, advertised: list[_AdvertisedAddress]) -> str:
    """A peer with another inter-broker listener, as in a rolling change, connects to this broker on that listener."""
    name = peer.inter_broker_listener
    if name is None or own.endpoint(name) is None or name in {each.listener for each in advertised}:
        return ""
    return f"broker {peer.broker_id} replicates over the listener {name}"


def _advertised_in(configs: Mapping[str, str]) -> Iterator[_AdvertisedAddress]:
    """Entries that do not parse are skipped: the broker itself has rejected them."""
    for entry in (configs.get(_ADVERTISED) or configs.get(_LISTENERS) or "").split(","):
        name, separator, address = entry.strip().partition("://")
        host, colon, port = address.rpartition(":")
        if separator and colon and port.isascii() and port.isdigit() and len(port) < 6:
            yield _AdvertisedAddress(normalize_listener_name(name), host.strip("[]"), int(port))


def _protocols(configs: Mapping[str, str]) -> Mapping[str, str]:
    pairs = (pair.rpartition(":") for pair in configs.get(_PROTOCOLS, "").split(","))
    return {normalize_listener_name(name): protocol.strip().upper() for name, _, protocol in pairs if name}
