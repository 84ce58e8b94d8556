"""Salts of SCRAM credentials, in the form that Kafka's own clients give them: 130 bits in base 36 (25 letters or so).

Whoever begins a login is shown the salt before he has proved anything. Where nobody has stored one (a user who does not
exist, one of a login module, a delegation token) it is made of the name and a secret of the cluster, so that neither
another broker nor another day shows which names are somebody's (RFC 5802, 9: no oracle for names).
"""

from __future__ import annotations

import hmac
import secrets

_BITS = 130
_DIGITS = b"0123456789abcdefghijklmnopqrstuvwxyz"
_SECRET_BYTES = 32


def random_salt() -> bytes:
    """For a new credential."""
    return _in_base_36(secrets.randbits(_BITS))


class Salts:
    """Salts by name. The secret is this process's alone until it is told the cluster's; it is never shown."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(_SECRET_BYTES)

    def use(self, secret: bytes) -> None:
        """Make them of this secret from here on."""
        self._secret = secret

    def of(self, mechanism: str, name: str) -> bytes:
        """The salt of a name that has none stored."""
        made = hmac.digest(self._secret, f"{mechanism}\0{name}".encode(), "sha256")
        return _in_base_36(int.from_bytes(made) >> (8 * len(made) - _BITS))


def _in_base_36(number: int) -> bytes:
    digits = bytearray()
    while number or not digits:
        number, digit = divmod(number, 36)
        digits.append(_DIGITS[digit])
    return bytes(reversed(digits))
