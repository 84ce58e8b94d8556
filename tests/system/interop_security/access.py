"""The settings with which any client gets access, and the results that it must return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Access to one kind of listener. Files are paths; "" means not set. `token_url` serves the same token to clients
    that fetch their token themselves."""

    servers: str
    protocol: str
    mechanism: str = ""
    user: str = ""
    password: str = ""
    token: str = ""
    token_url: str = ""
    ca_file: str = ""
    certificate_file: str = ""
    key_file: str = ""

    @property
    def uses_tls(self) -> bool:
        return self.protocol.endswith("SSL")

    @property
    def uses_sasl(self) -> bool:
        return self.protocol.startswith("SASL")


@dataclass(frozen=True, slots=True)
class Seen:
    """The results of a round trip: the values read, and whether the topic was in the list of topics."""

    read: list[str]
    listed: bool


class Driver(Protocol):
    """One client, unmodified."""

    def round_trip(self, access: Access, topic: str, records: int) -> Seen:
        """Produces `records` numbered records (acks=all, idempotent if the client can), reads them in a group if
        it can, lists the topics. Raises what the client raises."""
        ...

    def rejection(self, access: Access, deadline_s: float) -> str:
        """The client's error if it lists the topics without access; "" if it got access."""
        ...

    def close(self) -> None: ...
