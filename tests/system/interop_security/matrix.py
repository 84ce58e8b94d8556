"""The two tables of the matrix: what a listener requires of its clients, and the faults of rejected clients.

A cell is a kind and a client, or a fault and a client. What a client cannot do by its own documentation is a row of
`NOT_CELLS` with its source; everything else is a cell, and a cell passes or fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

RECORDS = 100
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
CLIENTS = ("librdkafka", "kafka-python", "aiokafka", "kafkajs", "java", "kcat")

LISTENERS: Mapping[str, str] = {
    "OPEN": "PLAINTEXT",
    "TLS": "SSL",
    "MUTUAL": "SSL",
    "PKCS": "SSL",
    "NAMELESS": "SSL",
    "LOGIN": "SASL_PLAINTEXT",
    "BOTH": "SASL_SSL",
    "REPLICATION": "SASL_SSL",
    "CONTROL": "SSL",
}
"""Security protocol by listener, for each broker. NAMELESS has an address that its certificate does not name."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of access: `name` is the row's heading."""

    name: str
    listener: str
    mechanism: str = ""
    mutual: bool = False

    @property
    def protocol(self) -> str:
        return LISTENERS[self.listener]


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("PLAINTEXT", "OPEN"),
        Kind("SSL", "TLS"),
        Kind("SSL mutual", "MUTUAL", mutual=True),
        Kind("SSL PKCS12", "PKCS"),
        *(Kind(f"SASL_PLAINTEXT {name}", "LOGIN", name) for name in MECHANISMS),
        *(Kind(f"SASL_SSL {name}", "BOTH", name) for name in MECHANISMS),
    )
}


@dataclass(frozen=True, slots=True)
class Fault:
    """A client that must be rejected: a kind's access with `change` made to it. `shows` is the column of `REJECTIONS`;
    for "untrusted" and "name" it is the client that does not trust the broker."""

    name: str
    kind: Kind
    shows: str
    change: Mapping[str, str]


_WRONG_PASSWORD = {"password": "guess"}

FAULTS: Mapping[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault("wrong password, PLAIN", KINDS["SASL_SSL PLAIN"], "login", _WRONG_PASSWORD),
        Fault("wrong password, SCRAM-SHA-256", KINDS["SASL_PLAINTEXT SCRAM-SHA-256"], "login", _WRONG_PASSWORD),
        Fault("wrong password, SCRAM-SHA-512", KINDS["SASL_SSL SCRAM-SHA-512"], "login", _WRONG_PASSWORD),
        Fault("unknown user, SCRAM-SHA-512", KINDS["SASL_PLAINTEXT SCRAM-SHA-512"], "login", {"user": "unknown"}),
        Fault("expired token, OAUTHBEARER", KINDS["SASL_SSL OAUTHBEARER"], "token", {"token": "expired"}),
        Fault(
            "unknown signing key, OAUTHBEARER", KINDS["SASL_PLAINTEXT OAUTHBEARER"], "token", {"token": "unknown-key"}
        ),
        Fault("untrusted broker certificate", KINDS["SSL"], "untrusted", {"ca_file": "other-ca.pem"}),
        Fault("broker certificate without its name", Kind("", "NAMELESS"), "name", {}),
        Fault("no client certificate", Kind("", "MUTUAL"), "alert", {}),
        Fault("untrusted client certificate", KINDS["SSL mutual"], "alert", {"identity": "untrusted"}),
    )
}


@dataclass(frozen=True, slots=True)
class NotACell:
    """A cell that a client does not support, by its own documentation."""

    client: str
    row: str
    reason: str
    source: str


_KCAT_TOKENS = (
    "kcat",
    "kcat cannot be given a token, and Debian 12's librdkafka cannot fetch one: it is built without libcurl",
    "error message: sasl.oauthbearer.method is not supported in this build; kcat -V lists no oidc",
)

NOT_CELLS: tuple[NotACell, ...] = tuple(
    NotACell(_KCAT_TOKENS[0], row, *_KCAT_TOKENS[1:]) for row in (*KINDS, *FAULTS) if row.endswith("OAUTHBEARER")
)


def cells() -> list[tuple[str, str]]:
    """(row, client) of every kind of access."""
    return [(row, client) for row in KINDS for client in CLIENTS if _is_cell(row, client)]


def rejection_cells() -> list[tuple[str, str]]:
    """(row, client) of every client that must be rejected."""
    return [(row, client) for row in FAULTS for client in CLIENTS if _is_cell(row, client)]


def _is_cell(row: str, client: str) -> bool:
    return not any((entry.client, entry.row) == (client, row) for entry in NOT_CELLS)
