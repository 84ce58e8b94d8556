"""The messages of SCRAM (RFC 5802) as values: attribute lists, escaped names, credentials, salts.

Kafka adds extensions to the client's first message: `tokenauth=true` means that the user is a delegation token's id.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from signalbox.security.sasl.mechanism import SCRAM_MECHANISMS, SaslError

_SALT_BITS = 130
_SALT_DIGITS = b"0123456789abcdefghijklmnopqrstuvwxyz"
_SALT_SECRET_BYTES = 32

MIN_ITERATIONS = 4096
_HASHES = dict(zip(SCRAM_MECHANISMS, ("sha256", "sha512"), strict=True))

_CLIENT_FIRST = re.compile(
    r"(?P<gs2>n,(?:a=(?P<authzid>[^,]*))?,)(?P<bare>(?:m=[^,]*,)?n=(?P<user>[^,]*),r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+)"
    r"(?P<extensions>(?:,[a-z]+=[^,]*)*))"
)
_SERVER_FIRST = re.compile(
    r"r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+),s=(?P<salt>[A-Za-z0-9+/=]+),i=(?P<iterations>\d{1,7})(?:,.*)?"
)
_CLIENT_FINAL = re.compile(
    r"(?P<bare>c=(?P<binding>[A-Za-z0-9+/=]+),r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+)(?:,[^,]*)*?),p=(?P<proof>[A-Za-z0-9+/=]+)"
)
_SERVER_FINAL = re.compile(r"(?:e=(?P<error>[^,]+)|v=(?P<verifier>[A-Za-z0-9+/=]+))(?:,.*)?")


@dataclass(frozen=True, slots=True)
class ScramCredential:
    """What a server stores of a password. The keys are left out of `repr`."""

    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int


@dataclass(frozen=True, slots=True)
class ClientFirst:
    gs2_header: str
    bare: str
    authorization_id: str
    user: str
    nonce: str
    extensions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ServerFirst:
    text: str
    nonce: str
    salt: bytes
    iterations: int


@dataclass(frozen=True, slots=True)
class ClientFinal:
    bare: str
    binding: bytes
    nonce: str
    proof: bytes


def hash_name(mechanism: str) -> str:
    """hashlib's name of a mechanism's hash; KeyError for an unknown mechanism."""
    return _HASHES[mechanism]


def salted_password(mechanism: str, password: str, salt: bytes, iterations: int) -> bytes:
    """Hi() of the RFC: the expensive step, 1 to 3 ms for 4096 iterations."""
    return hashlib.pbkdf2_hmac(hash_name(mechanism), password.encode(), salt, iterations)


def keyed(mechanism: str, key: bytes, data: bytes) -> bytes:
    """HMAC of the RFC."""
    return hmac.digest(key, data, hash_name(mechanism))


def hashed(mechanism: str, data: bytes) -> bytes:
    """H of the RFC."""
    return hashlib.new(hash_name(mechanism), data).digest()


def credential_from_salted(mechanism: str, salted: bytes, salt: bytes, iterations: int) -> ScramCredential:
    """The credential that AlterUserScramCredentials stores: clients send the salted password, never the plain one."""
    stored_key = hashed(mechanism, keyed(mechanism, salted, b"Client Key"))
    return ScramCredential(salt, stored_key, keyed(mechanism, salted, b"Server Key"), iterations)


def make_credential(mechanism: str, password: str, salt: bytes, iterations: int = MIN_ITERATIONS) -> ScramCredential:
    """A credential from a password, for JAAS files, tests and command lines."""
    return credential_from_salted(mechanism, salted_password(mechanism, password, salt, iterations), salt, iterations)


def escape_name(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")


def unescape_name(text: str) -> str:
    """The name; SaslError for a '=' that is not part of an escape."""
    if re.search(r"=(?!2C|3D)", text):
        raise SaslError("invalid escape in a SCRAM name")
    return text.replace("=2C", ",").replace("=3D", "=")


def parse_client_first(token: bytes) -> ClientFirst:
    match = _CLIENT_FIRST.fullmatch(_text(token))
    if match is None:
        raise SaslError("invalid SCRAM client first message")
    extensions = dict(piece.split("=", 1) for piece in match["extensions"].split(",") if piece)
    return ClientFirst(
        match["gs2"],
        match["bare"],
        unescape_name(match["authzid"] or ""),
        unescape_name(match["user"]),
        match["nonce"],
        extensions,
    )


def parse_server_first(token: bytes) -> ServerFirst:
    match = _SERVER_FIRST.fullmatch(_text(token))
    if match is None:
        raise SaslError("invalid SCRAM server first message")
    return ServerFirst(match[0], match["nonce"], _decode(match["salt"]), int(match["iterations"]))


def parse_client_final(token: bytes) -> ClientFinal:
    match = _CLIENT_FINAL.fullmatch(_text(token))
    if match is None:
        raise SaslError("invalid SCRAM client final message")
    return ClientFinal(match["bare"], _decode(match["binding"]), match["nonce"], _decode(match["proof"]))


def parse_server_final(token: bytes) -> bytes:
    """The server's verifier; SaslError with the error that the server sent."""
    match = _SERVER_FINAL.fullmatch(_text(token))
    if match is None:
        raise SaslError("invalid SCRAM server final message")
    if match["error"]:
        raise SaslError(f"the server rejected: {match['error']}")
    return _decode(match["verifier"])


def encode_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise SaslError("invalid base64 in a SCRAM message") from None


def _text(token: bytes) -> str:
    try:
        return token.decode()
    except UnicodeDecodeError:
        raise SaslError("a SCRAM message is not UTF-8") from None


def random_salt() -> bytes:
    """A salt for a new credential."""
    return _in_base_36(secrets.randbits(_SALT_BITS))


class Salts:
    """Salts by name, in the form that Kafka's own clients use: 130 bits in base 36 (about 25 letters).

    A client receives the salt before it has proved anything. For a name without a stored salt (an unknown user, a user
    of a login module, a delegation token) the salt is computed from the name and a secret of the cluster. So it is the
    same on every broker and every day, and does not show whether the name exists (RFC 5802, 9: no oracle for names).

    The secret is this process's own until `use` sets the cluster's; it is never returned."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(_SALT_SECRET_BYTES)

    def use(self, secret: bytes) -> None:
        """Compute salts from this secret from now on."""
        self._secret = secret

    def of(self, mechanism: str, name: str) -> bytes:
        """The salt of a name without a stored one."""
        salt = hmac.digest(self._secret, f"{mechanism}\0{name}".encode(), "sha256")
        return _in_base_36(int.from_bytes(salt) >> (8 * len(salt) - _SALT_BITS))


def _in_base_36(number: int) -> bytes:
    digits = bytearray()
    while number or not digits:
        number, digit = divmod(number, 36)
        digits.append(_SALT_DIGITS[digit])
    return bytes(reversed(digits))
