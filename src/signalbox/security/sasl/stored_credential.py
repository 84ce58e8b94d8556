"""A SCRAM credential as Kafka stores it in a user's configs, under the mechanism's name (KIP-84, KIP-554):

    SCRAM-SHA-256 → salt=<base64>,stored_key=<base64>,server_key=<base64>,iterations=4096

It is not a password, but with it an attacker can impersonate the server and try passwords offline: it is never logged.
"""

from __future__ import annotations

import base64
import binascii

from signalbox.security.sasl.scram_messages import ScramCredential, encode_base64

# Kafka's ScramMechanism: the protocol's numbers. 0 and all others are unknown.
MECHANISM_CODES: dict[int, str] = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
MAX_ITERATIONS = 16_384

_KEYS = {"salt", "stored_key", "server_key", "iterations"}


class BadCredential(ValueError):
    """A stored text is not a credential. The message does not contain it."""


def encode_credential(credential: ScramCredential) -> str:
    """The credential as stored text."""
    return ",".join(
        (
            f"salt={encode_base64(credential.salt)}",
            f"stored_key={encode_base64(credential.stored_key)}",
            f"server_key={encode_base64(credential.server_key)}",
            f"iterations={credential.iterations}",
        )
    )


def decode_credential(text: str) -> ScramCredential:
    """The credential; BadCredential."""
    fields = {key: value for key, _, value in (piece.strip().partition("=") for piece in text.split(","))}
    if fields.keys() != _KEYS:
        raise BadCredential(f"a SCRAM credential has {', '.join(sorted(_KEYS))}")
    try:
        salt, stored_key, server_key = (
            base64.b64decode(fields[key], validate=True) for key in ("salt", "stored_key", "server_key")
        )
        return ScramCredential(salt, stored_key, server_key, int(fields["iterations"]))
    except (binascii.Error, ValueError):
        # The error's own text would quote the invalid input.
        raise BadCredential("a SCRAM credential holds base64 and a number of iterations") from None
