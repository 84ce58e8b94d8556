"""Client quotas and rates of addresses follow the stored configs; the windows of the broker give the bursts."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from signalbox.broker.client_quotas import ClientQuotas
from signalbox.common.clock import ManualClock
from signalbox.configuration.quotas import follow_address_rates, follow_quotas
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.entries.entity_config import encode_configs
from signalbox.metadata.entries.quota_entity import CONTROLLER_MUTATION_RATE, PRODUCER_BYTE_RATE
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, Delete, Write
from signalbox.security.principal import KafkaPrincipal
from tests.broker.handler_requests import LoadedConfigs
from tests.configuration.settings import config_of
from tests.metadata.participants import run_with_stores

ALICE = KafkaPrincipal("User", "alice")
RATES = {PRODUCER_BYTE_RATE: "100", CONTROLLER_MUTATION_RATE: "2"}


def quotas_with(**static: str) -> ClientQuotas:
    return follow_quotas(config_of(**static), LoadedConfigs({"users/alice": RATES}), ManualClock())


def bursts(quotas: ClientQuotas) -> Mapping[str, float]:
    buckets = {quota: quotas.bucket(quota, ALICE, "app") for quota in RATES}
    return {quota: bucket.burst for quota, bucket in buckets.items() if bucket is not None}


@pytest.mark.parametrize(
    ("static", "produce_burst", "controller_burst", "window_ms"),
    [
        ({}, 1_000, 22, 1_000),  # 11 windows of 1 s: ten complete ones for a rate, all of them for the controller
        ({"quota__window__num": "3", "quota__window__size__seconds": "2"}, 400, 22, 2_000),
        ({"quota__window__num": "1"}, 100, 22, 1_000),  # no complete window: one second
        ({"controller__quota__window__num": "4", "controller__quota__window__size__seconds": "5"}, 1_000, 40, 1_000),
    ],
)
def test_the_windows_of_the_configuration_are_the_bursts(
    static: dict[str, str], produce_burst: float, controller_burst: float, window_ms: int
) -> None:
    quotas = quotas_with(**static)
    assert bursts(quotas) == {PRODUCER_BYTE_RATE: produce_burst, CONTROLLER_MUTATION_RATE: controller_burst}
    assert quotas.window_ms == window_ms


def test_quotas_and_rates_of_addresses_follow_each_change() -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        clock, repository = ManualClock(), ConfigRepository(store, ManualClock())
        quotas = follow_quotas(config_of(), repository, clock)
        rates = follow_address_rates(repository, clock)
        entities = {"users/alice": RATES, "ips/127.0.0.1": {"connection_creation_rate": "0"}}
        await store.commit([Create(f"/config/{path}", encode_configs(configs)) for path, configs in entities.items()])
        assert (bursts(quotas), rates.hold_seconds("127.0.0.1")) == ({}, 0)
        await repository.load(entities)
        assert bursts(quotas) == {PRODUCER_BYTE_RATE: 1_000, CONTROLLER_MUTATION_RATE: 22}
        assert rates.hold_seconds("127.0.0.1") > 0
        await store.commit(
            [Write("/config/users/alice", encode_configs({PRODUCER_BYTE_RATE: "7"})), Delete("/config/ips/127.0.0.1")]
        )
        await repository.load(entities)
        assert bursts(quotas) == {PRODUCER_BYTE_RATE: 70}
        assert rates.hold_seconds("127.0.0.1") == 0

    run_with_stores(1, scenario)


def test_each_address_has_its_own_rate_or_the_default(caplog: pytest.LogCaptureFixture) -> None:
    rates = follow_address_rates(
        LoadedConfigs(
            {
                "ips/<default>": {"connection_creation_rate": "0"},
                "ips/127.0.0.1": {"connection_creation_rate": "2"},
                "ips/0:0:0:0:0:0:0:1": {"connection_creation_rate": "1"},
                "ips/10.0.0.1": {"connection_creation_rate": "-1"},
                "users/alice": {"connection_creation_rate": "0"},
            }
        ),
        ManualClock(),
    )
    assert [rates.hold_seconds("127.0.0.1") for _ in range(3)] == [0, 0, 0.5]
    assert [rates.hold_seconds("::1") for _ in range(2)] == [0, 1]  # another form of the same address
    assert rates.hold_seconds("10.0.0.1") > 0  # an invalid rate is ignored: the default applies
    assert "Invalid quotas ignored (path=ips/10.0.0.1): connection_creation_rate is -1.0" in caplog.text
    assert caplog.text.count("Invalid quotas") == 1
