"""SCRAM users in the command line syntax of Kafka's storage tool (KIP-900):

    SCRAM-SHA-256=[name=admin,password=secret]
    SCRAM-SHA-512=[name=admin,iterations=8192,salt="N3E=",saltedpassword="YCE="]

Values may be quoted, and contain no comma. Error messages never contain a value: it may be a password.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field

from signalbox.security.sasl.mechanism import SCRAM_MECHANISMS
from signalbox.security.sasl.scram_messages import (
    MIN_ITERATIONS,
    ScramCredential,
    credential_from_salted,
    make_credential,
    random_salt,
)
from signalbox.security.sasl.stored_credential import MAX_ITERATIONS

_KEYS = ("name", "password", "iterations", "salt", "saltedpassword")


class BadScramArgument(ValueError):
    """The text does not describe a SCRAM user; the message names the problem."""


@dataclass(frozen=True, slots=True)
class ScramArgument:
    """A user to create. Exactly one of `password` and `salted_password` is set, the latter with its salt."""

    mechanism: str
    name: str
    iterations: int | None = None
    salt: bytes | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    salted_password: bytes | None = field(default=None, repr=False)

    def credential(self) -> ScramCredential:
        """The credential to store; a random salt and 4096 iterations where none are given."""
        return self._made(self.salt or random_salt(), self.iterations or MIN_ITERATIONS)

    def agrees_with(self, stored: ScramCredential) -> bool:
        """Whether the stored credential already matches this text, so that nothing needs to be changed."""
        if self.salt not in (None, stored.salt) or self.iterations not in (None, stored.iterations):
            return False
        return self._made(stored.salt, stored.iterations) == stored

    def _made(self, salt: bytes, iterations: int) -> ScramCredential:
        if self.salted_password is not None:
            return credential_from_salted(self.mechanism, self.salted_password, salt, iterations)
        return make_credential(self.mechanism, self.password or "", salt, iterations)


def parse_scram_argument(text: str) -> ScramArgument:
    """The user that `text` describes; BadScramArgument."""
    mechanism, equals, body = text.strip().partition("=")
    if not equals or not body.startswith("[") or not body.endswith("]"):
        raise BadScramArgument("expected MECHANISM=[name=…,password=…]")
    if mechanism not in SCRAM_MECHANISMS:
        raise BadScramArgument(f"the mechanism {mechanism} is not supported: use {' or '.join(SCRAM_MECHANISMS)}")
    values = _values(body[1:-1])
    if not values.get("name"):
        raise BadScramArgument("'name' is missing or empty")
    if ("password" in values) == ("saltedpassword" in values):
        raise BadScramArgument("one of 'password' and 'saltedpassword' is needed")
    if values.get("password") == "":
        raise BadScramArgument("'password' is empty")
    if "saltedpassword" in values and "salt" not in values:
        raise BadScramArgument("'saltedpassword' needs the 'salt' that it was made with")
    return ScramArgument(
        mechanism,
        values["name"],
        _iterations(values["iterations"]) if "iterations" in values else None,
        _base64(values, "salt"),
        values.get("password"),
        _base64(values, "saltedpassword"),
    )


def _values(body: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for number, piece in enumerate(body.split(","), 1):
        key, equals, value = piece.strip().partition("=")
        if not equals or key not in _KEYS:
            key_names = ", ".join(_KEYS)
            raise BadScramArgument(
                f"piece {number} is not key=value with one of the keys {key_names} (no commas in values)"
            )
        if key in values:
            raise BadScramArgument(f"'{key}' is given twice")
        values[key] = value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
    return values


def _iterations(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
    if not MIN_ITERATIONS <= number <= MAX_ITERATIONS:
        raise BadScramArgument(f"'iterations' must be a number from {MIN_ITERATIONS} to {MAX_ITERATIONS}")
    return number


def _base64(values: dict[str, str], key: str) -> bytes | None:
    if key not in values:
        return None
    try:
        data = base64.b64decode(values[key], validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if not data:
        raise BadScramArgument(f"'{key}' is not base64")
    return data
