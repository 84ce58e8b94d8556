"""The messages of OAUTHBEARER (RFC 7628, 3.1), encoded and decoded as in Kafka.

    n,a=<authorization id>,^Aauth=Bearer <token>^A<key>=<value>^A^A

Split by code rather than by one pattern: for a message of an unauthenticated client the time must not grow faster than
the length.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from signalbox.security.sasl.mechanism import SaslError

SEPARATOR = "\x01"
ERROR_ACKNOWLEDGED = b"\x01"
"""The client's response to the server's error message."""

_INVALID = "Invalid OAUTHBEARER client first message"
_AUTH = "auth"
_BEARER = re.compile(r"(\w+) +([-_.a-zA-Z0-9]+)", re.ASCII)
_KEY = re.compile(r"[A-Za-z]+")
_VALUE = re.compile(r"[\x21-\x7e \t\r\n]+")
_NAME = re.compile(r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+")


@dataclass(frozen=True, slots=True)
class InitialResponse:
    """The token's text is kept out of `repr`: it is a credential."""

    token: str = field(repr=False)
    authorization_id: str = ""
    extensions: Mapping[str, str] = field(default_factory=dict)

    def encode(self) -> bytes:
        """ValueError when an extension cannot be encoded."""
        for key, value in self.extensions.items():
            if key == _AUTH or not _KEY.fullmatch(key) or not _VALUE.fullmatch(value):
                raise ValueError(f"the SASL extension {key!r} has a name or a value that cannot be sent")
        name = f"a={_escaped(self.authorization_id)}" if self.authorization_id else ""
        pairs = "".join(f"{key}={value}{SEPARATOR}" for key, value in self.extensions.items())
        return f"n,{name},{SEPARATOR}auth=Bearer {self.token}{SEPARATOR}{pairs}{SEPARATOR}".encode()


def parse_initial_response(message: bytes) -> InitialResponse:
    """The decoded message. SaslError, whose text may be sent to the peer: it only describes the format."""
    try:
        text = message.decode()
    except UnicodeDecodeError:
        raise SaslError(_INVALID) from None
    header, separator, rest = text.partition("," + SEPARATOR)
    if not separator or not rest.endswith(SEPARATOR):
        raise SaslError(_INVALID)
    pairs = {}
    for pair in rest.removesuffix(SEPARATOR).split(SEPARATOR)[:-1]:
        key, equals, value = pair.partition("=")
        if not equals or not _KEY.fullmatch(key) or not _VALUE.fullmatch(value) or key in pairs:
            raise SaslError(_INVALID)
        pairs[key] = value
    auth = pairs.pop(_AUTH, None)
    if auth is None:
        raise SaslError(f"{_INVALID}: 'auth' not specified")
    match = _BEARER.fullmatch(auth)
    if match is None:
        raise SaslError(f"{_INVALID}: invalid 'auth' format")
    if match[1].lower() != "bearer":
        raise SaslError(f"{_INVALID}: invalid scheme")
    return InitialResponse(match[2], _authorization_id(header), pairs)


def _authorization_id(header: str) -> str:
    if header == "n,":
        return ""
    if not header.startswith("n,a=") or not _NAME.fullmatch(name := header[4:]):
        raise SaslError(_INVALID)
    return name.replace("=2C", ",").replace("=3D", "=")


def _escaped(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")
