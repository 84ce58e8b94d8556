from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from signalbox.client.cluster.bootstrap import Seeds
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address
from signalbox.client.failures import VersionUnsupported
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.metadata import MetadataRequest
from tests.client.changing_names import set_addresses
from tests.client.loopback_cluster import LoopbackCluster
from tests.waiting import until_true

SETTINGS = ConnectionSettings(connect_timeout_ms=1_000, request_timeout_ms=1_000)


async def asked(seeds: Seeds, stop_after: int = 99) -> list[tuple[Address, str | None]]:
    found: list[tuple[Address, str | None]] = []
    async with aclosing(seeds.ask(MetadataRequest(topics=[]), 1_000)) as answers:
        async for address, response in answers:
            found.append((address, response.cluster_id))
            if len(found) == stop_after:
                break
    return found


def test_bootstrap_servers_are_tried_one_after_the_other_without_identity_and_closed() -> None:
    async def run() -> None:
        async with LoopbackCluster() as cluster:
            addresses = [Address(*(await cluster.add_broker(node_id)).address) for node_id in (1, 2, 3)]
            seeds = Seeds(addresses, SETTINGS)
            first = await asked(seeds)
            assert sorted(address for address, _ in first) == sorted(addresses)
            second = await asked(seeds, stop_after=1)
            assert second[0][0] == first[1][0], "the next round begins with the next seed"
            hellos = [row for broker in cluster.brokers.values() for row in broker.seen(ApiKey.API_VERSIONS)]
            assert all((row.cluster_id, row.node_id) == (None, -1) for row in hellos)
            await until_true(lambda: not any(broker._writers for broker in cluster.brokers.values()))

    asyncio.run(run())


def test_seeds_that_lead_nowhere_are_passed_over_and_remembered() -> None:
    async def run() -> None:
        async with LoopbackCluster() as cluster:
            good = Address(*(await cluster.add_broker(1)).address)
            seeds = Seeds([Address("no-such-host.invalid", 1), Address("127.0.0.1", 1), good], SETTINGS)
            assert await asked(seeds) == [(good, "cluster-A")]
            assert seeds.last_failure is not None
            nowhere = Seeds([Address("127.0.0.1", 1)], SETTINGS)
            assert await asked(nowhere) == []
            assert "127.0.0.1:1" in str(nowhere.last_failure)

    asyncio.run(run())


def test_every_address_behind_a_name_is_a_candidate() -> None:
    async def run() -> None:
        async with LoopbackCluster() as cluster:
            _, port = (await cluster.add_broker(1)).address
            found = await asked(Seeds([Address("localhost", port)], SETTINGS))
            assert found[-1] == (Address("localhost", port), "cluster-A")

    asyncio.run(run())


@pytest.mark.spec("R5")
def test_each_round_resolves_the_names_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with LoopbackCluster() as cluster:
            _, port = (await cluster.add_broker(1)).address
            seeds = Seeds([Address("kafka.test", port)], SETTINGS)
            set_addresses(monkeypatch, "kafka.test", "127.0.0.2")
            assert await asked(seeds) == []
            assert "127.0.0.2" in str(seeds.last_failure)
            set_addresses(monkeypatch, "kafka.test", "127.0.0.1")
            assert await asked(seeds) == [(Address("kafka.test", port), "cluster-A")]

    asyncio.run(run())


def test_a_round_in_which_every_server_rejects_the_client_has_a_final_failure() -> None:
    async def run() -> None:
        async with LoopbackCluster() as cluster:
            first, second = await cluster.add_broker(1), await cluster.add_broker(2)
            first.max_versions[ApiKey.METADATA] = second.max_versions[ApiKey.METADATA] = -1
            seeds = Seeds([Address(*first.address), Address(*second.address)], SETTINGS)
            assert await asked(seeds) == []
            assert isinstance(seeds.final_failure, VersionUnsupported)
            del second.max_versions[ApiKey.METADATA]
            assert len(await asked(seeds)) == 1
            assert seeds.final_failure is None, "one server accepts the client"
            unreachable = Seeds([Address(*first.address), Address("127.0.0.1", 1)], SETTINGS)
            assert await asked(unreachable) == []
            assert unreachable.final_failure is None, "the other server may come back"

    asyncio.run(run())
