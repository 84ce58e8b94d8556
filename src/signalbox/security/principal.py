"""Principals: who a peer is, how that is found out from its connection, and how it travels in an Envelope (F7).

A principal builder turns what a channel proved (TLS subject, SASL authorization id, nothing) into a principal. It must
also be a serde, or the broker cannot forward requests (Kafka refuses such a start; so do we). The default serde is
Kafka's DefaultPrincipalData: int16 version, then the flexible struct (type, name, token flag, no tagged fields).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from signalbox.common.endpoint import SecurityProtocol

USER_TYPE = "User"
_VERSION = 0


@dataclass(frozen=True, slots=True)
class KafkaPrincipal:
    """A type (nearly always `User`) and a name. Equality ignores how it authenticated, as in Kafka."""

    type: str
    name: str
    token_authenticated: bool = False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KafkaPrincipal):
            return NotImplemented
        return self.type == other.type and self.name == other.name

    def __hash__(self) -> int:
        return hash((self.type, self.name))

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


ANONYMOUS = KafkaPrincipal(USER_TYPE, "ANONYMOUS")


class PrincipalDeserializationError(ValueError):
    """Bytes that are no principal: answered with PRINCIPAL_DESERIALIZATION_FAILURE."""


@dataclass(frozen=True, slots=True)
class AuthenticationEvidence:
    """What a channel proved about its peer. `tls_subject` is the distinguished name of a verified certificate,
    `authorization_id` the one that a SASL mechanism accepted."""

    security_protocol: SecurityProtocol
    client_address: str
    listener_name: str
    tls_subject: str | None = None
    authorization_id: str | None = None
    token_authenticated: bool = False


class PrincipalBuilder(Protocol):
    """Port of `principal.builder.class`."""

    def build(self, evidence: AuthenticationEvidence) -> KafkaPrincipal: ...


@runtime_checkable
class PrincipalSerde(Protocol):
    """What forwarding needs besides: a principal as bytes and back."""

    def serialize(self, principal: KafkaPrincipal) -> bytes: ...

    def deserialize(self, data: bytes) -> KafkaPrincipal:
        """PrincipalDeserializationError when `data` is no principal."""
        ...


class DefaultPrincipalBuilder:
    """Kafka's DefaultKafkaPrincipalBuilder and its serde."""

    def build(self, evidence: AuthenticationEvidence) -> KafkaPrincipal:
        if evidence.security_protocol.uses_sasl and evidence.authorization_id is not None:
            return KafkaPrincipal(USER_TYPE, evidence.authorization_id, evidence.token_authenticated)
        if evidence.security_protocol is SecurityProtocol.SSL and evidence.tls_subject is not None:
            return KafkaPrincipal(USER_TYPE, evidence.tls_subject)
        return ANONYMOUS

    def serialize(self, principal: KafkaPrincipal) -> bytes:
        return b"".join(
            (
                _VERSION.to_bytes(2),
                _compact(principal.type),
                _compact(principal.name),
                b"\x01" if principal.token_authenticated else b"\x00",
                b"\x00",
            )
        )

    def deserialize(self, data: bytes) -> KafkaPrincipal:
        if len(data) < 2 or int.from_bytes(data[:2]) != _VERSION:
            raise PrincipalDeserializationError(f"not version {_VERSION} of DefaultPrincipalData: {data[:2].hex()!r}")
        try:
            type_, position = _read_compact(data, 2)
            name, position = _read_compact(data, position)
            token, position = bool(data[position]), position + 1
            tags, position = _read_varint(data, position)
            for _ in range(tags):
                _, position = _read_varint(data, position)
                size, position = _read_varint(data, position)
                position += size
        except (IndexError, UnicodeDecodeError) as error:
            raise PrincipalDeserializationError("truncated or garbled DefaultPrincipalData") from error
        if position != len(data):
            raise PrincipalDeserializationError(f"{len(data) - position} bytes off the end of DefaultPrincipalData")
        return KafkaPrincipal(type_, name, token)


def _compact(text: str) -> bytes:
    data = text.encode()
    return _varint(len(data) + 1) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7
        if shift > 28:
            raise IndexError("varint is too long")


def _read_compact(data: bytes, position: int) -> tuple[str, int]:
    size, position = _read_varint(data, position)
    end = position + size - 1
    if size == 0 or end > len(data):
        raise IndexError("string does not fit")
    return data[position:end].decode(), end
