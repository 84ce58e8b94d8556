"""What to examine: one bootstrap entry with the properties of a client; and the limits of a run."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from signalbox.client.client_settings import ClientSettings
from signalbox.client.config_rows import CLIENT_CONFIG
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.hiding_login import hiding_secrets
from signalbox.client.connection.node import Address
from signalbox.common.config.old_keys import current_name
from signalbox.doctor.observations import ClientOptions
from signalbox.doctor.prober.certificate_reader import unverified_context
from signalbox.security.clean_text import TextCleaner, secrets_of
from signalbox.security.sasl.mechanism import OAUTHBEARER, SCRAM_MECHANISMS

METADATA_FRAME_BYTES = 16 << 20  # the Metadata of some 100,000 partitions: asked once per listener
_PIN = "pin:"
_MAX_FRAME_BYTES = 1 << 20  # any other response, for some 10,000 nodes


class Questions(StrEnum):
    """What a node may be asked for the proof of its identity. Each false identity that it must reject is a misrouted
    connection in its log and its audit trail; a proof for an operator is worth that, a check every few minutes is
    not."""

    ALL = "all"  # a node that accepts the expected identity must reject a false one too
    IF_REJECTED = "if-rejected"  # a node that accepts the expected identity is asked no more
    HANDSHAKE = "handshake"  # nothing but ApiVersions, whatever it responds: for connections without authentication


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """`timeout_ms` limits each name lookup, each connect and each request; a run lasts at most `run_timeouts` of them.
    `open_connections` of them are under way at a time, `connections_at_once` to one IP address and port.
    `addresses` is how many addresses of one listener are examined, `candidates` how many identities are tried at one of
    them, `asked_nodes` how many nodes are asked for what they say about the others."""

    timeout_ms: int = 5_000
    connections_per_address: int = 5
    open_connections: int = 64
    connections_at_once: int = 4
    addresses: int = 1_000
    candidates: int = 64
    asked_nodes: int = 100
    run_timeouts: int = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class ExaminedListener:
    """One bootstrap entry. `hides_secret`: authentication does not show the password or token to the peer."""

    text: str
    seeds: tuple[Address, ...]
    settings: ConnectionSettings
    protocol: str
    mechanism: str
    cleaner: TextCleaner
    certificates: ssl.SSLContext | None
    hides_secret: bool
    questions: Questions = Questions.ALL
    client: ClientOptions = field(default_factory=ClientOptions)

    @classmethod
    def of(
        cls,
        bootstrap: str,
        properties: Mapping[str, str],
        limits: Limits,
        name: str = "",
        origin: Callable[[str], str] = lambda key: "",
    ) -> ExaminedListener:
        """From `host:port,...` and client properties; `name` is for reports, where `bootstrap` is not unique.
        ConfigRejected lists every fault in them, each with the place that `origin` gives for its key."""
        properties = {**{current_name(key): value for key, value in properties.items()}, "bootstrap.servers": bootstrap}
        client = ClientSettings.from_properties({"client.id": "signalbox-doctor", **properties}, origin)
        values, _ = CLIENT_CONFIG.read(properties)
        uses_sasl = client.security.sasl is not None
        mechanism = str(values["sasl.mechanism"]) if uses_sasl else ""
        cleaner = TextCleaner(secrets_of(properties))
        settings = client.connections()
        if mechanism == OAUTHBEARER and settings.security.sasl is not None:
            login = hiding_secrets(settings.security.sasl, cleaner)
            settings = settings.secured(replace(settings.security, sasl=login))
        return cls(
            text=name or bootstrap,
            seeds=tuple(client.bootstrap),
            settings=replace(
                settings,
                connect_timeout_ms=limits.timeout_ms,
                request_timeout_ms=limits.timeout_ms,
                identity_enabled=True,
                max_frame_bytes=_MAX_FRAME_BYTES,
            ),
            protocol=str(values["security.protocol"]),
            mechanism=mechanism,
            cleaner=cleaner,
            certificates=unverified_context(values) if client.security.tls is not None else None,
            hides_secret=not uses_sasl or mechanism in SCRAM_MECHANISMS,
            client=ClientOptions(
                recovery_strategy=client.recovery.metadata_recovery_strategy,
                cluster_check=client.recovery.cluster_check_enabled,
                pinned_cluster_id=client.cluster_id_policy.partition(_PIN)[2],
            ),
        )

    @property
    def uses_tls(self) -> bool:
        return self.settings.security.tls is not None

    @property
    def uses_sasl(self) -> bool:
        return self.settings.security.sasl is not None
