"""One address: every IP of it, several connections each, one after the other, each limited in time.

The first connection to an IP asks everything; the others only ask whether the same node responds. Where several nodes
respond, as many connections again show whether they alternate or the route has changed. An IP that gives no usable
connection is not tried again.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from signalbox.client.connection.connection import ClientConnection, connect
from signalbox.client.connection.node import Address, Identity
from signalbox.client.failures import ClientFailure, Misrouted
from signalbox.client.route_probe.identity import Identified, confirms, identify
from signalbox.common.ids import Grade
from signalbox.doctor.observations import AddressObservation, Certificate, ConnectionObservation, Fault, LeftOut
from signalbox.doctor.prober.certificate_reader import (
    CONTENTS_UNREAD,
    any_certificate_context,
    read_certificate,
    reads_contents,
)
from signalbox.doctor.prober.examined_listener import ExaminedListener, Limits, Questions
from signalbox.doctor.prober.fault_of import fault_of, problem_of
from signalbox.doctor.prober.resolver import Lookup, LookupNotBegun, Resolver, Unresolved
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.sasl_handshake import SaslHandshakeRequest
from signalbox.security.clean_text import clean_name

Item = TypeVar("Item")
_READY = "ready"
_NO_MECHANISM = "signalbox-doctor"
_NOT_ASKED = "the password is not sent to a node that rejects the expected identity"
_NO_CANDIDATE = "it rejects that identity and those of the other nodes"
_WITHOUT_TLS = (Fault.CONNECTION_REFUSED, Fault.NO_ROUTE, Fault.TIMEOUT, Fault.TLS_MISSING)
_MAX_DIFFERENCES = 100
_MAX_IPS = 16


class Run:
    """What all probes of a run share: the limits, the slots of open connections, the end. However many nodes advertise
    one address, it gets `connections_at_once` connections at a time."""

    def __init__(self, limits: Limits, lookup: Lookup) -> None:
        self.limits = limits
        self._slots = asyncio.Semaphore(limits.open_connections)
        self._slots_of_one: defaultdict[tuple[str, int], asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(limits.connections_at_once)
        )
        self._end = asyncio.get_running_loop().time() + limits.run_timeouts * limits.timeout_ms / 1000
        self.resolver = Resolver(limits.timeout_ms, lookup, self._end)

    @asynccontextmanager
    async def slot(self, ip: str, port: int) -> AsyncIterator[None]:
        """A place for one connection. The wait for a busy address takes no place from the others."""
        async with self._slots_of_one[ip, port], self._slots:
            yield

    @property
    def is_over(self) -> bool:
        return asyncio.get_running_loop().time() >= self._end


@dataclass(frozen=True, slots=True)
class Probe:
    """One address to probe, with the node that should be there. `known_brokers`: what Metadata of the bootstrap server
    has; an address keeps of its own Metadata what differs."""

    address: Address
    expected: Identity | None = None
    bootstrap: bool = False
    connections: int = 1
    node_id: int = -1
    known_brokers: frozenset[tuple[int, tuple[str, int]]] = frozenset()
    candidates: tuple[int, ...] = ()


class AddressProber:
    """Probes the addresses of one listener. `skipped`: what was left out, with the reason."""

    def __init__(self, listener: ExaminedListener, run: Run) -> None:
        self.skipped: list[LeftOut] = []
        self._listener = listener
        self._run = run
        self._clean = listener.cleaner.clean

    async def probe(self, probe: Probe) -> AddressObservation:
        """Never raises for anything that a peer does."""
        clean_host = clean_name(probe.address.host, 255)
        result = AddressObservation(
            host=clean_host,
            port=probe.address.port,
            bootstrap=probe.bootstrap,
            node_id=probe.node_id,
            cluster_id=clean_name(probe.expected.cluster_id) if probe.expected else "",
        )
        if clean_host != probe.address.host or not clean_host:
            return replace(result, resolve_text="it is no host name")
        if not 0 < probe.address.port < 65_536 or self._run.is_over:
            return replace(result, examined=False)
        try:
            ips = await self._run.resolver.resolve(*probe.address)
        except Unresolved as failure:
            return replace(result, resolve_text=self._clean(failure))
        except LookupNotBegun:
            return replace(result, examined=False)
        ips = self._cut(ips, _MAX_IPS, f"IP addresses of {clean_host}")
        rows = await asyncio.gather(*(self._probe_ip(probe, ip) for ip in ips))
        brokers = next((found.brokers for _, found, _ in rows if found.brokers), {})
        return replace(
            result,
            ips=tuple(ips),
            examined=any(connections for connections, _, _ in rows),
            connections=tuple(row for connections, _, _ in rows for row in connections),
            certificates={ip: row for ip, (_, _, row) in zip(ips, rows, strict=True) if row is not None},
            brokers=self._differing(brokers, probe),
        )

    def _differing(self, brokers: dict[int, tuple[str, int]], probe: Probe) -> dict[str, str]:
        """Those addresses in the Metadata of this node that the bootstrap server does not have."""
        rows = [row for row in brokers.items() if row not in probe.known_brokers]
        if probe.known_brokers:
            rows = self._cut(rows, _MAX_DIFFERENCES, f"differing addresses in the Metadata of {probe.address.host}")
        rows = rows[:_MAX_DIFFERENCES]
        return {str(node_id): str(Address(clean_name(host, 255), port)) for node_id, (host, port) in rows}

    def _cut(self, rows: list[Item], limit: int, what: str) -> list[Item]:
        if len(rows) > limit:
            self.skipped.append(LeftOut(f"{what}: only the first {limit} of {len(rows)}"))
        return rows[:limit]

    async def _probe_ip(
        self, probe: Probe, ip: str
    ) -> tuple[list[ConnectionObservation], Identified, Certificate | None]:
        rows: list[ConnectionObservation] = []
        first = Identified()
        certificate = None
        for index in range(2 * probe.connections):
            several = len({row.node_id for row in rows}) > 1
            if index >= probe.connections and not several:
                break
            async with self._run.slot(ip, probe.address.port):
                if self._run.is_over:
                    break
                row, found = await self._connection(probe, ip, first)
                rows.append(row)
                if index == 0:
                    first = found
                    certificate = await self._certificate(probe.address, ip, row)
            if not row.usable:
                break
        return rows, first, certificate

    async def _certificate(self, address: Address, ip: str, row: ConnectionObservation) -> Certificate | None:
        context = self._listener.certificates
        if context is None or row.fault in _WITHOUT_TLS:
            return None
        certificate = await self._read_certificate(address, ip, context)
        if certificate is not None and not reads_contents():
            self.skipped.append(LeftOut(CONTENTS_UNREAD, unknown=False))  # what is left unknown is a notice
        return certificate

    async def _read_certificate(self, address: Address, ip: str, context: ssl.SSLContext) -> Certificate | None:
        try:
            async with asyncio.timeout(self._run.limits.timeout_ms / 1000):
                return await read_certificate(ip, address.port, address.host, context, self._clean)
        except Exception:  # TimeoutError, or a handshake that no code expects
            return None

    async def _connection(self, probe: Probe, ip: str, first: Identified) -> tuple[ConnectionObservation, Identified]:
        """One connection: (observation, what is known of the node)."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        row = ConnectionObservation(ip=ip, stage=_READY)
        found = Identified()
        try:
            async with asyncio.timeout(2 * self._run.limits.timeout_ms / 1000):
                row, found = await self._identified(probe, ip, first)
        except ClientFailure as failure:
            row = await self._failed(probe.address, ip, failure)
        except TimeoutError:
            row = replace(row, stage="requests", fault=Fault.TIMEOUT, text="the requests were not answered in time")
        except Exception as error:  # an address or an answer that no code expects: the other probes go on
            row = replace(row, stage="requests", fault=Fault.NOT_KAFKA, text=self._clean(error))
        return replace(row, total_ms=round((loop.time() - started) * 1000, 2)), found

    async def _identified(self, probe: Probe, ip: str, first: Identified) -> tuple[ConnectionObservation, Identified]:
        loop = asyncio.get_running_loop()
        started = loop.time()
        expected = probe.expected
        if expected is None and first.node_id >= 0 and first.cluster_id:
            expected = Identity(first.cluster_id, first.node_id)
        connection, rejected = await self._open(probe, ip, expected)
        connect_ms = round((loop.time() - started) * 1000, 2)
        if connection is None:
            text = _NOT_ASKED if self._listener.uses_sasl else _NO_CANDIDATE
            row = ConnectionObservation(
                ip=ip, stage="api-versions", grade=Grade.REJECTED, text=text, api_versions_max=5
            )
            return replace(row, connect_ms=connect_ms), Identified(grade=Grade.REJECTED)
        try:
            found = self._by_handshake(connection, rejected) or await self._again(connection, expected, first)
            if found is None:
                found = await identify(connection, connection.identity, rejected, self._run.limits.candidates)
        finally:
            connection.close("the probe is over")
        not_asked = found.grade == Grade.REJECTED and not found.rejects_all
        row = ConnectionObservation(
            ip=ip,
            stage="api-versions" if not_asked else _READY,
            text="it rejects that identity, and not every other one was tried" if not_asked else "",
            cluster_id=clean_name(found.cluster_id),
            node_id=found.node_id,
            grade=found.grade,
            api_versions_max=found.api_versions_max,
            advertised=clean_name(found.advertised, 2_000),
            connect_ms=connect_ms,
        )
        return row, found

    def _by_handshake(self, connection: ClientConnection, rejected: bool) -> Identified | None:
        """What the handshake shows, where the listener's `questions` end there; None if the node must be asked."""
        questions = self._listener.questions
        is_expected = connection.verified and not rejected
        if questions is Questions.ALL or (questions is Questions.IF_REJECTED and not is_expected):
            return None
        versions = connection.api_ranges.range_of(ApiKey.API_VERSIONS) or (0, 0)
        if connection.identity is None or not connection.verified:
            return Identified(api_versions_max=versions[1])
        grade = Grade.SEARCHED if rejected else Grade.VERIFIED
        return Identified(*connection.identity, grade, versions[1])

    async def _again(
        self, connection: ClientConnection, expected: Identity | None, first: Identified
    ) -> Identified | None:
        """What the first connection has found, if this one leads to the same node; None if that must be asked."""
        if expected is None or first.node_id != expected.node_id or first.cluster_id != expected.cluster_id:
            return None
        if first.grade in (Grade.VERIFIED, Grade.SEARCHED):
            return replace(first, grade=Grade.VERIFIED) if connection.verified else None
        if first.grade == Grade.CONFIGS and await confirms(connection, first.node_id):
            return first
        return None

    async def _open(self, probe: Probe, ip: str, expected: Identity | None) -> tuple[ClientConnection | None, bool]:
        """(connection, whether the node rejected `expected`). Where authentication would show a password or token to
        the node, only a node that accepts an identity gets it; None if none is accepted."""
        settings = self._listener.settings
        try:
            return await connect(probe.address, settings, expected, resolved=[ip]), False
        except Misrouted as failure:
            wanted = failure.wanted
        may_ask = self._listener.questions is not Questions.HANDSHAKE
        if may_ask and (
            self._listener.hides_secret or probe.expected is None
        ):  # a bootstrap server got it on the first connection
            return await connect(probe.address, settings, resolved=[ip]), True
        for node_id in probe.candidates[: self._run.limits.candidates]:
            if node_id == wanted.node_id:
                continue
            try:
                identity = Identity(wanted.cluster_id, node_id)
                return await connect(probe.address, settings, identity, resolved=[ip]), True
            except Misrouted:
                continue
        return None, True

    async def _failed(self, address: Address, ip: str, failure: ClientFailure) -> ConnectionObservation:
        stage, fault = fault_of(failure, self._listener.uses_tls)
        mechanisms: tuple[str, ...] = ()
        text = problem_of(failure)
        if fault == Fault.SASL_MECHANISM:
            mechanisms = tuple(text.rpartition("broker's: ")[2].split(", "))
        elif fault == Fault.CLOSED and stage == "requests" and not self._listener.uses_sasl:
            mechanisms = await self._offered_mechanisms(address, ip)
            fault = Fault.SASL_EXPECTED if mechanisms else fault
        elif fault == Fault.CLOSED and stage == "api-versions" and not self._listener.uses_tls:
            fault = Fault.TLS_EXPECTED if await self._has_tls(address, ip) else fault
        return ConnectionObservation(
            ip=ip,
            stage=stage,
            fault=fault,
            text=self._clean(text),
            sasl_mechanisms=tuple(clean_name(name, 40) for name in mechanisms[:10]),
        )

    async def _has_tls(self, address: Address, ip: str) -> bool:
        """Whether the port completes a TLS handshake: many listeners with TLS close other connections in silence."""
        return await self._read_certificate(address, ip, any_certificate_context()) is not None

    async def _offered_mechanisms(self, address: Address, ip: str) -> tuple[str, ...]:
        """The mechanisms of a listener with SASL; none where SASL is not enabled."""
        try:
            async with asyncio.timeout(self._run.limits.timeout_ms / 1000):
                connection = await connect(address, self._listener.settings, resolved=[ip])
                try:
                    response = await connection.request(SaslHandshakeRequest(mechanism=_NO_MECHANISM), version=1)
                finally:
                    connection.close("the probe is over")
        except Exception:  # whatever it answers, it offers nothing that can be read
            return ()
        return tuple(response.mechanisms)
