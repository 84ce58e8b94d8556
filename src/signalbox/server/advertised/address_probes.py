"""Probes of advertised addresses by a broker: the doctor's prober, with the security that the broker has.

A broker probes all of its own addresses, and those of some peers: of the brokers that follow it in the order of their
ids. So each broker is checked by as many others, and the number of connections grows with the number of brokers, not
with its square.

On the inter-broker listener brokers log in at each other anyway, so a probe does the same. On all other listeners a
probe has no user: it reads the certificate and sends ApiVersions with the identity that it expects, which is compared
before authentication too (SPEC R2). It verifies no certificate there: it sends nothing secret, and a broker need not
trust what its clients trust.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from signalbox.client.connection.connection_settings import ConnectionSecurity, ConnectionSettings, OutboundTls
from signalbox.client.connection.hiding_login import hiding_secrets
from signalbox.client.connection.node import Address, Identity
from signalbox.common.endpoint import Endpoint, host_port
from signalbox.configuration.peer_security import PeerSecurity
from signalbox.doctor.observations import AddressObservation, ClusterView, Examination, ListenerObservation
from signalbox.doctor.prober.address_prober import AddressProber, Probe, Run
from signalbox.doctor.prober.certificate_reader import any_certificate_context, unverified_context
from signalbox.doctor.prober.examined_listener import ExaminedListener, Limits, Questions
from signalbox.doctor.prober.resolver import Lookup, look_up
from signalbox.metadata.image import MetadataImage
from signalbox.security.clean_text import TextCleaner
from signalbox.security.sasl.mechanism import SCRAM_MECHANISMS
from signalbox.security.tls.settings import TlsConfigError

LIMITS = Limits(connections_per_address=3, open_connections=2, candidates=16)
NODES_AT_ONCE = 4
CLIENT_ID = "advertised-check"
MAX_PEERS = 32
_MAX_FRAME_BYTES = 1 << 20


class AdvertisedAddress(NamedTuple):
    """An endpoint that a broker advertises."""

    node_id: int
    endpoint: Endpoint


def addresses_to_check(
    image: MetadataImage, node_id: int, without: Container[str], max_peers: int = MAX_PEERS
) -> list[AdvertisedAddress]:
    """Those of this broker first, then those of at most `max_peers` peers; none before the metadata has this broker.
    `without`: names of listeners that are not checked."""
    if not image.is_alive(node_id):
        return []
    others = sorted(image.brokers, key=lambda other: (other < node_id, other))  # this broker, above it, below it
    return [
        AdvertisedAddress(other, endpoint)
        for other in others[: max_peers + 1]
        for name, endpoint in sorted(image.brokers[other].endpoints.items())
        if name not in without
    ]


@dataclass(frozen=True, slots=True)
class Prober:
    """This broker as one that probes. `lookup` replaces the operating system's name resolution."""

    identity: Identity
    inter_broker_listener_name: str
    peers: PeerSecurity
    limits: Limits = LIMITS
    lookup: Lookup = look_up

    async def observe(
        self, due: Sequence[AdvertisedAddress], known: Sequence[AdvertisedAddress]
    ) -> dict[AdvertisedAddress, AddressObservation]:
        """Probes the addresses that are `due`, among all that are `known`: at most `NODES_AT_ONCE` nodes at a time, and
        each with `limits.open_connections`. Never raises for anything that a peer does."""
        listeners: dict[tuple[str, int], ExaminedListener] = {}
        nodes: dict[int, list[AdvertisedAddress]] = defaultdict(list)
        for row in due:
            # The security protocol of a listener can differ between brokers while it is changed.
            if _place(row.endpoint) not in listeners:
                listeners[_place(row.endpoint)] = await self._examined(row.endpoint)
            nodes[row.node_id].append(row)
        slots = asyncio.Semaphore(NODES_AT_ONCE)

        async def observe_node(rows: list[AdvertisedAddress]) -> list[AddressObservation]:
            async with slots:
                run = Run(self.limits, self.lookup)  # its time begins with the first connection to the node
                probers = ((AddressProber(listeners[_place(row.endpoint)], run), row) for row in rows)
                return list(await asyncio.gather(*(prober.probe(self._probe(row, known)) for prober, row in probers)))

        found = await asyncio.gather(*(observe_node(rows) for rows in nodes.values()))
        return {
            row: observation
            for rows, observations in zip(nodes.values(), found, strict=True)
            for row, observation in zip(rows, observations, strict=True)
        }

    def _probe(self, address: AdvertisedAddress, known: Sequence[AdvertisedAddress]) -> Probe:
        node_id, endpoint = address
        rows = [row for row in known if row.endpoint.listener_name == endpoint.listener_name]
        return Probe(
            Address(endpoint.host, endpoint.port),
            expected=Identity(self.identity.cluster_id, node_id),
            connections=self.limits.connections_per_address if node_id == self.identity.node_id else 1,
            node_id=node_id,
            known_brokers=frozenset((row.node_id, (row.endpoint.host, row.endpoint.port)) for row in rows),
            candidates=tuple(row.node_id for row in rows),
        )

    async def _examined(self, endpoint: Endpoint) -> ExaminedListener:
        logs_in = endpoint.listener_name == self.inter_broker_listener_name
        protocol, cleaner = endpoint.security_protocol, TextCleaner()
        certificates = await asyncio.to_thread(self._certificates, endpoint) if protocol.uses_tls else None
        if logs_in:
            security = _hiding(self.peers.of(endpoint), cleaner)
        else:
            security = ConnectionSecurity(OutboundTls(certificates) if certificates is not None else None)
        return ExaminedListener(
            text=endpoint.listener_name,
            seeds=(),
            settings=ConnectionSettings(
                client_id=f"broker-{self.identity.node_id}-{CLIENT_ID}",
                connect_timeout_ms=self.limits.timeout_ms,
                request_timeout_ms=self.limits.timeout_ms,
                max_frame_bytes=_MAX_FRAME_BYTES,
                security=security,
            ),
            protocol=protocol.name,
            mechanism=security.sasl.mechanism if security.sasl is not None else "",
            cleaner=cleaner,
            certificates=certificates,
            hides_secret=security.sasl is None or security.sasl.mechanism in SCRAM_MECHANISMS,
            questions=Questions.HANDSHAKE if protocol.uses_sasl and not logs_in else Questions.IF_REJECTED,
        )

    def _certificates(self, endpoint: Endpoint) -> ssl.SSLContext:
        """A context without verification. It presents this broker's certificate of the listener only where clients
        must have one. Reads files."""
        settings = self.peers.settings.listener(endpoint.listener_name)
        if settings.text("ssl.client.auth") != "required":
            return any_certificate_context()
        try:
            return unverified_context(settings.values)
        except TlsConfigError:
            return any_certificate_context()


def examination_of(
    observations: Mapping[AdvertisedAddress, AddressObservation], cluster_id: str, started: datetime
) -> Examination:
    """The newest observation of each address together, so that nodes that are exchanged are recognized."""
    by_listener: dict[str, list[AdvertisedAddress]] = defaultdict(list)
    for row in sorted(observations, key=lambda row: row.node_id):
        by_listener[row.endpoint.listener_name].append(row)
    listeners = tuple(
        ListenerObservation(
            bootstrap=name,
            protocol=rows[0].endpoint.security_protocol.name,
            view=ClusterView(
                cluster_id=cluster_id,
                brokers={str(row.node_id): host_port(row.endpoint.host, row.endpoint.port) for row in rows},
            ),
            addresses=tuple(observations[row] for row in rows),
        )
        for name, rows in by_listener.items()
    )
    return Examination(started=started.isoformat(timespec="seconds"), listeners=listeners)


def _place(endpoint: Endpoint) -> tuple[str, int]:
    return endpoint.listener_name, endpoint.security_protocol


def _hiding(security: ConnectionSecurity, cleaner: TextCleaner) -> ConnectionSecurity:
    """The same security; what a peer returns of this broker's password or token is hidden in texts."""
    return security if security.sasl is None else replace(security, sasl=hiding_secrets(security.sasl, cleaner))
