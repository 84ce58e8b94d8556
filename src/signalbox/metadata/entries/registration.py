"""A broker's registration, `/brokers/ids/<id>`: JSON versions 1 to 5 read, 4 and 5 written (SPEC L8, KIP-103).

`host` and `port` at the top level are those of the first endpoint whose *protocol* is PLAINTEXT, else null and -1: for
readers older than `endpoints`. `timestamp` is a string, as in released Kafka. Four keys are not Kafka's, whose readers
ignore them: `inter_broker_listener` (absent: the reader's own), `control_plane_listener` and `privileged_listener`
(absent: the inter-broker listener), because senders use the target's settings during a rolling restart; and
`log_dirs`, the state in which the broker found its log directories (in KIP-858 and KIP-966 the fields LogDirs and
PreviousBrokerEpoch of BrokerRegistrationRequest).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from signalbox.common.endpoint import Endpoint, SecurityProtocol, normalize_listener_name
from signalbox.common.ids import uuid_bytes, uuid_text
from signalbox.metadata.entries.json_text import MAX_NUMBER, BadEntry, decode_json, encode_json

VERSION_WITHOUT_FEATURES = 4
VERSION_WITH_FEATURES = 5  # written from inter.broker.protocol.version 2.7 on, 4 below
_MAX_DIGITS = len(str(MAX_NUMBER))
_OUR_KEYS = ("inter_broker_listener", "control_plane_listener", "privileged_listener")


@dataclass(frozen=True, slots=True)
class RegisteredLogDir:
    """A log directory by its id in meta.properties. `previous_broker_epoch`: the broker epoch of the clean shutdown, or
    since which the running broker has used it; -1 after an unclean shutdown or for a new directory."""

    directory_id: bytes
    previous_broker_epoch: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistration:
    """A broker's registration. Listener names are in upper case."""

    broker_id: int
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None
    timestamp_ms: int = 0
    jmx_port: int = -1
    features: dict[str, tuple[int, int]] = field(default_factory=dict)
    inter_broker_listener: str | None = None
    control_plane_listener: str | None = None
    privileged_listener: str | None = None
    log_dirs: tuple[RegisteredLogDir, ...] = ()

    def endpoint(self, listener_name: str) -> Endpoint | None:
        """The endpoint of one listener; None without that listener."""
        return next((each for each in self.endpoints if each.listener_name == listener_name), None)

    def control_endpoint(self, inter_broker_listener: str) -> Endpoint | None:
        """The endpoint that accepts LeaderAndIsr, UpdateMetadata and StopReplica (C2). `inter_broker_listener` is the
        sender's, used for a broker whose registration does not name its own."""
        return self.endpoint(self.control_plane_listener or self.inter_broker_listener or inter_broker_listener)

    def privileged_endpoint(self, inter_broker_listener: str) -> Endpoint | None:
        """The endpoint that accepts Envelopes and other requests of brokers to the controller (SPEC C, Resolved)."""
        return self.endpoint(self.privileged_listener or self.inter_broker_listener or inter_broker_listener)

    def continued(self, broker_epoch: int) -> BrokerRegistration:
        """The registration with which the same process registers again after `broker_epoch`, with the same
        directories."""
        log_dirs = tuple(RegisteredLogDir(each.directory_id, broker_epoch) for each in self.log_dirs)
        return replace(self, log_dirs=log_dirs)

    def encode(self, version: int = VERSION_WITH_FEATURES) -> bytes:
        """The JSON payload in version 4 or 5."""
        plain = next((each for each in self.endpoints if each.security_protocol is SecurityProtocol.PLAINTEXT), None)
        payload: dict[str, Any] = {
            "version": version,
            "host": plain.host if plain else None,
            "port": plain.port if plain else -1,
            "jmx_port": self.jmx_port,
            "timestamp": str(self.timestamp_ms),
            "endpoints": [str(each) for each in self.endpoints],
            "listener_security_protocol_map": {
                each.listener_name: each.security_protocol.name for each in self.endpoints
            },
        }
        if self.rack is not None:
            payload["rack"] = self.rack
        if version >= VERSION_WITH_FEATURES:
            payload["features"] = {
                name: {"min_version": low, "max_version": high} for name, (low, high) in self.features.items()
            }
        for key in _OUR_KEYS:
            if (listener_name := getattr(self, key)) is not None:
                payload[key] = listener_name
        if self.log_dirs:
            payload["log_dirs"] = [
                {"id": uuid_text(each.directory_id), "previous_broker_epoch": each.previous_broker_epoch}
                for each in self.log_dirs
            ]
        return encode_json(payload)


def decode_registration(broker_id: int, data: bytes | None) -> BrokerRegistration:
    """The registration in a payload of any version from 1 on; unknown keys are ignored. BadEntry names the fault."""
    return _decoded(f"/brokers/ids/{broker_id}", broker_id, data)


def registration_at(path: str, data: bytes | None) -> BrokerRegistration:
    """The registration of the node that the last part of the path names. BadEntry names the path and the fault."""
    name = path.rpartition("/")[2]
    if not (name.isascii() and name.isdecimal() and len(name) <= _MAX_DIGITS and int(name) <= MAX_NUMBER):
        raise BadEntry(f"{path} is named after no broker id")
    return _decoded(path, int(name), data)


def _decoded(entry: str, broker_id: int, data: bytes | None) -> BrokerRegistration:
    payload = decode_json(data, entry)
    try:
        version = int(payload["version"])
        if version < 1:
            raise BadEntry(f"{entry} has version {version}: 1 is the first")
        return BrokerRegistration(
            broker_id=broker_id,
            endpoints=_endpoints(payload, version),
            rack=_rack(payload),
            timestamp_ms=int(payload.get("timestamp", 0)),
            jmx_port=int(payload["jmx_port"]),
            features={
                name: (int(span["min_version"]), int(span["max_version"]))
                for name, span in (payload.get("features") or {}).items()
            },
            **{key: _listener(payload, key) for key in _OUR_KEYS},
            log_dirs=tuple(
                RegisteredLogDir(uuid_bytes(each["id"]), int(each["previous_broker_epoch"]))
                for each in payload.get("log_dirs") or ()
            ),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadEntry(f"{entry} is not a broker's registration: {error!r}") from error


def _endpoints(payload: dict[str, Any], version: int) -> tuple[Endpoint, ...]:
    if version == 1:
        plaintext = SecurityProtocol.PLAINTEXT
        return (Endpoint(plaintext.name, payload["host"], int(payload["port"]), plaintext),)
    names = payload.get("listener_security_protocol_map")
    protocols = None if names is None else {normalize_listener_name(name): names[name] for name in names}
    return tuple(_parse_endpoint(text, protocols) for text in payload["endpoints"])


def _parse_endpoint(text: str, protocols: dict[str, str] | None) -> Endpoint:
    listener, separator, address = text.partition("://")
    host, colon, port = address.rpartition(":")
    if not separator or not colon:
        raise ValueError(f"{text!r} is not NAME://host:port")
    name = normalize_listener_name(listener)
    # Below version 4 there is no map, and a listener has the name of its protocol.
    protocol = SecurityProtocol[name if protocols is None else protocols[name]]
    if (number := int(port)) not in range(65_536):
        raise ValueError(f"{text!r} names no port")
    return Endpoint(name, host.removeprefix("[").removesuffix("]"), number, protocol)


def _rack(payload: dict[str, Any]) -> str | None:
    rack = payload.get("rack")
    if rack is not None and not isinstance(rack, str):
        raise TypeError(f"the rack {rack!r} is no text")
    return rack


def _listener(payload: dict[str, Any], key: str) -> str | None:
    name = payload.get(key)
    return None if name is None else normalize_listener_name(name)
