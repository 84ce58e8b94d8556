"""One run over all bootstrap entries.

Per entry: each bootstrap server once, until one gives Metadata; then every address, the advertised ones and the
bootstrap servers, several times; then what the nodes return in other responses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from signalbox.client.connection.connection import connect
from signalbox.client.connection.node import Address, Identity
from signalbox.client.failures import Misrouted
from signalbox.doctor.observations import (
    AddressObservation,
    ClusterView,
    EndpointObservation,
    Examination,
    LeftOut,
    ListenerObservation,
)
from signalbox.doctor.prober.address_prober import AddressProber, Probe, Run
from signalbox.doctor.prober.cluster_questions import Cluster, read_cluster, read_endpoints, with_endpoints
from signalbox.doctor.prober.coordinators import CoordinatorKeys
from signalbox.doctor.prober.examined_listener import METADATA_FRAME_BYTES, ExaminedListener, Limits
from signalbox.doctor.prober.fault_of import problem_of
from signalbox.doctor.prober.resolver import Lookup, look_up


async def examine(
    listeners: Sequence[ExaminedListener],
    limits: Limits,
    lookup: Lookup = look_up,
    keys: CoordinatorKeys | None = None,
) -> Examination:
    """Observes everything, and the coordinators of `keys`. `lookup` replaces the operating system's name resolution.
    Never raises for anything that a peer does, and ends after `limits.run_timeouts` timeouts at the latest (a few more
    for requests in flight)."""
    loop = asyncio.get_running_loop()
    started_at, started = datetime.now(UTC), loop.time()
    run = Run(limits, lookup)
    examiners = [_Examiner(listener, run, keys or CoordinatorKeys()) for listener in listeners]
    rows = await asyncio.gather(*(examiner.examine() for examiner in examiners))
    return Examination(
        started=started_at.isoformat(timespec="seconds"),
        duration_ms=round((loop.time() - started) * 1000, 1),
        listeners=tuple(rows),
    )


class _Examiner:
    """One bootstrap entry."""

    def __init__(self, listener: ExaminedListener, run: Run, keys: CoordinatorKeys) -> None:
        self._listener = listener
        self._keys = keys
        self._run = run
        self._prober = AddressProber(listener, run)

    async def examine(self) -> ListenerObservation:
        seeds = self._listener.seeds
        first = await asyncio.gather(*(self._prober.probe(Probe(seed, bootstrap=True)) for seed in seeds))
        cluster = await self._read_cluster(first)
        addresses = await asyncio.gather(*self._probes(dict(zip(seeds, first, strict=True)), cluster))
        view = await self._with_endpoints(cluster, addresses) if cluster is not None else ClusterView()
        view = view.with_left_out(self._prober.skipped)
        return ListenerObservation(
            bootstrap=self._listener.text,
            protocol=self._listener.protocol,
            mechanism=self._listener.mechanism,
            client=self._listener.client,
            view=view,
            addresses=tuple(addresses),
        )

    async def _read_cluster(self, seeds: Sequence[AddressObservation]) -> Cluster | None:
        """The Metadata of the first bootstrap server that returns it."""
        settings = replace(self._listener.settings, max_frame_bytes=METADATA_FRAME_BYTES)
        for seed, row in zip(self._listener.seeds, seeds, strict=True):
            for usable in row.usable:
                try:
                    async with asyncio.timeout(2 * self._run.limits.timeout_ms / 1000):
                        connection = await connect(seed, settings, resolved=[usable.ip])
                        try:
                            return await read_cluster(connection, self._run.limits.addresses)
                        finally:
                            connection.close("the probe is over")
                except Exception:  # ClientFailure, TimeoutError, or a Metadata that no code expects
                    continue
        return None

    def _probes(
        self, seeds: dict[Address, AddressObservation], cluster: Cluster | None
    ) -> list[asyncio.Task[AddressObservation]]:
        """The probes of all addresses. A bootstrap server that gave no usable connection is not probed again."""
        known = cluster.brokers if cluster is not None else {}
        shared = Probe(
            Address("", 0),
            connections=self._run.limits.connections_per_address,
            known_brokers=frozenset(known.items()),
            candidates=tuple(known),
        )
        nodes = [(Address(*address), node_id) for node_id, address in sorted(known.items())]
        advertised = {address for address, _ in nodes}
        probes = [
            replace(shared, address=seed, bootstrap=True)
            for seed, row in seeds.items()
            if seed not in advertised and row.usable
        ]
        for address, node_id in nodes:
            expected = Identity(cluster.cluster_id, node_id) if cluster is not None and cluster.cluster_id else None
            probes.append(
                replace(shared, address=address, expected=expected, node_id=node_id, bootstrap=address in seeds)
            )
        loop = asyncio.get_running_loop()
        dead = [row for seed, row in seeds.items() if seed not in advertised and not row.usable]
        return [loop.create_task(_done(row)) for row in dead] + [
            loop.create_task(self._prober.probe(probe)) for probe in probes
        ]

    async def _with_endpoints(self, cluster: Cluster, addresses: Sequence[AddressObservation]) -> ClusterView:
        nodes = [row for row in addresses if row.node_id >= 0 and row.node_id in row.answering]
        limit = self._run.limits.asked_nodes
        asked = await asyncio.gather(*(self._endpoints(cluster, row) for row in nodes[:limit]))
        endpoints = [endpoint for found, _ in asked for endpoint in found]
        skipped = [reason for _, reasons in asked for reason in reasons]
        if len(nodes) > limit:
            reason = f"DescribeCluster, FindCoordinator and Fetch: {limit} of {len(nodes)} nodes were asked"
            skipped.append(LeftOut(reason))
        return with_endpoints(cluster.view, endpoints, skipped)

    async def _endpoints(
        self, cluster: Cluster, row: AddressObservation
    ) -> tuple[list[EndpointObservation], list[LeftOut]]:
        address = Address(row.host, row.port)
        expected = Identity(cluster.cluster_id, row.node_id) if cluster.cluster_id else None
        try:
            async with (
                self._run.slot(row.usable[0].ip, row.port),
                asyncio.timeout(2 * self._run.limits.timeout_ms / 1000),
            ):
                if self._run.is_over:
                    return [], [LeftOut("there was no time to ask all nodes")]
                connection = await connect(address, self._listener.settings, expected, resolved=[row.usable[0].ip])
                try:
                    return await read_endpoints(connection, row.node_id, cluster, self._keys)
                finally:
                    connection.close("the probe is over")
        except Exception as failure:  # ClientFailure, TimeoutError, or a response that no code expects
            problem = problem_of(failure) or "no response in time"
            # That several nodes respond at this address is a finding already.
            known = isinstance(failure, Misrouted) and row.answering != (row.node_id,)
            return [], [LeftOut(f"node {row.node_id}: {self._listener.cleaner.clean(problem)}", unknown=not known)]


async def _done(row: AddressObservation) -> AddressObservation:
    return row
