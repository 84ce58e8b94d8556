"""What a client needs to get in, whichever client it is, and what it must bring back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Of one listener kind. Files are paths; "" is not given. `token_url` serves the same token to clients that fetch
    theirs themselves."""

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
    """What a round trip brought back: values as they were read, and whether the topic was in the list of topics."""

    read: list[str]
    listed: bool


class Driver(Protocol):
    """One client, unmodified."""

    def round_trip(self, access: Access, topic: str, records: int) -> Seen:
        """Produce `records` numbered records (acks=all, idempotent where the client can), read them in a group where
        it can, list the topics. Raises what the client raises."""
        ...

    def refusal(self, access: Access, deadline_s: float) -> str:
        """What the client says when it asks for the topics and is not let in; "" when it was let in."""
        ...

    def close(self) -> None: ...
