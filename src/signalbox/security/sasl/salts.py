"""Salts of SCRAM credentials, in the form that Kafka's own clients use: 130 bits in base 36 (about 25 letters).

A client receives the salt before it has proved anything. For a name without a stored salt (an unknown user, a user of a
login module, a delegation token) the salt is computed from the name and a secret of the cluster. So it is the same on
every broker and every day, and does not show whether the name exists (RFC 5802, 9: no oracle for names).
"""

from __future__ import annotations

import hmac
import secrets

_BITS = 130
_DIGITS = b"0123456789abcdefghijklmnopqrstuvwxyz"
_SECRET_BYTES = 32


def random_salt() -> bytes:
    """A salt for a new credential."""
    return _in_base_36(secrets.randbits(_BITS))


class Salts:
    """Salts by name. The secret is this process's own until `use` sets the cluster's; it is never returned."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(_SECRET_BYTES)

    def use(self, secret: bytes) -> None:
        """Compute salts from this secret from now on."""
        self._secret = secret

    def of(self, mechanism: str, name: str) -> bytes:
        """The salt of a name without a stored one."""
        salt = hmac.digest(self._secret, f"{mechanism}\0{name}".encode(), "sha256")
        return _in_base_36(int.from_bytes(salt) >> (8 * len(salt) - _BITS))


def _in_base_36(number: int) -> bytes:
    digits = bytearray()
    while number or not digits:
        number, digit = divmod(number, 36)
        digits.append(_DIGITS[digit])
    return bytes(reversed(digits))
