"""Principals: the user of a connection, how it is derived from the connection, and its bytes in an Envelope (F7).

A principal builder makes a principal from what a channel proved (TLS subject, SASL authorization id, nothing). It must
also be a serde, or the broker cannot forward requests (Kafka rejects this at start; so do we). The default serde is
Kafka's DefaultPrincipalData: int16 version, then the flexible struct (type, name, token flag, no tagged fields).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from signalbox.common.endpoint import SecurityProtocol
from signalbox.common.log_limiter import CLIENT_CAUSED
from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.messages.default_principal_data import DefaultPrincipalData
from signalbox.security.oauth.access_token import AccessToken
from signalbox.security.principal_mapping import NoMatchingRule, PrincipalMapping

log = logging.getLogger(__name__)

USER_TYPE = "User"
_VERSION = 0


@dataclass(frozen=True, slots=True)
class KafkaPrincipal:
    """A type (nearly always `User`) and a name. Equality ignores `token_authenticated`, as in Kafka."""

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
    """The bytes are not a principal: the response is PRINCIPAL_DESERIALIZATION_FAILURE."""


@dataclass(frozen=True, slots=True)
class AuthenticationEvidence:
    """What a channel proved about its peer. `tls_subject` is the distinguished name of a verified certificate,
    `authorization_id` the id that a SASL mechanism accepted; `access_token` is the token of an OAUTHBEARER login
    (without its text), `sasl_extensions` are the SASL extensions that the client sent (KIP-342)."""

    security_protocol: SecurityProtocol
    client_address: str
    listener_name: str
    tls_subject: str | None = None
    authorization_id: str | None = None
    token_authenticated: bool = False
    access_token: AccessToken | None = None
    sasl_extensions: Mapping[str, str] = field(default_factory=dict)


class PrincipalBuilder(Protocol):
    """Port of `principal.builder.class`."""

    def build(self, evidence: AuthenticationEvidence) -> KafkaPrincipal:
        """The principal; PrincipalRejected when the peer is not allowed to connect."""
        ...


@runtime_checkable
class PrincipalSerde(Protocol):
    """Port that forwarding needs besides the builder: a principal to bytes and back."""

    def serialize(self, principal: KafkaPrincipal) -> bytes: ...

    def deserialize(self, data: bytes) -> KafkaPrincipal:
        """PrincipalDeserializationError when `data` is not a principal."""
        ...


class NoPrincipalSerde:
    """Used where no serde is configured: below the gate of a rolling upgrade nothing is forwarded (F7, F17)."""

    def serialize(self, principal: KafkaPrincipal) -> bytes:
        raise TypeError("the principal builder does not implement KafkaPrincipalSerde: requests cannot be forwarded")

    def deserialize(self, data: bytes) -> KafkaPrincipal:
        raise PrincipalDeserializationError("the principal builder of this broker is no serde")


class PrincipalRejected(ValueError):
    """Raised by a builder: the peer is authenticated, but not allowed to connect."""


def build_principal(builder: PrincipalBuilder, evidence: AuthenticationEvidence) -> KafkaPrincipal:
    """The principal that `builder` returns; PrincipalRejected also when it raises any other exception."""
    try:
        return builder.build(evidence)
    except PrincipalRejected:
        raise
    except Exception as error:
        log.exception(
            "Principal builder failed (listener=%s): the connection is rejected",
            evidence.listener_name,
            extra=CLIENT_CAUSED,
        )
        raise PrincipalRejected("the principal builder failed") from error


class DefaultPrincipalBuilder:
    """Kafka's DefaultKafkaPrincipalBuilder and its serde. `mappings` are the rules for certificates by listener name;
    without rules the distinguished name is the user name."""

    def __init__(self, mappings: Mapping[str, PrincipalMapping] | None = None) -> None:
        self._mappings = mappings or {}

    def build(self, evidence: AuthenticationEvidence) -> KafkaPrincipal:
        if evidence.security_protocol.uses_sasl and evidence.authorization_id is not None:
            return KafkaPrincipal(USER_TYPE, evidence.authorization_id, evidence.token_authenticated)
        if evidence.security_protocol is SecurityProtocol.SSL and evidence.tls_subject is not None:
            return KafkaPrincipal(USER_TYPE, self._user_name(evidence.listener_name, evidence.tls_subject))
        return ANONYMOUS

    def _user_name(self, listener_name: str, distinguished_name: str) -> str:
        mapping = self._mappings.get(listener_name)
        try:
            return distinguished_name if mapping is None else mapping.user_name(distinguished_name)
        except NoMatchingRule as error:
            raise PrincipalRejected(str(error)) from error

    def serialize(self, principal: KafkaPrincipal) -> bytes:
        data = DefaultPrincipalData(
            type=principal.type, name=principal.name, token_authenticated=principal.token_authenticated
        )
        return _VERSION.to_bytes(2) + data.encode(_VERSION)

    def deserialize(self, data: bytes) -> KafkaPrincipal:
        if len(data) < 2 or int.from_bytes(data[:2], signed=True) != _VERSION:
            raise PrincipalDeserializationError(f"not version {_VERSION} of DefaultPrincipalData: {data[:2].hex()!r}")
        try:
            fields = DefaultPrincipalData.decode(data, _VERSION, 2)
        except DecodeError as error:
            raise PrincipalDeserializationError(f"no DefaultPrincipalData: {error}") from error
        return KafkaPrincipal(fields.type, fields.name, fields.token_authenticated)
