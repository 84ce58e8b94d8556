"""Client quotas, read from the dynamic configs of users, client ids and addresses."""

from __future__ import annotations

import logging

from signalbox.broker.client_quotas import ClientQuotas, QuotaWindows
from signalbox.common.clock import Clock
from signalbox.configuration.configuration import NodeConfig
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.entries.entity_config import Configs
from signalbox.metadata.entries.quota_entity import CONNECTION_CREATION_RATE, IP, quota_entity, quotas_of
from signalbox.network.quotas.address_rates import AddressRates
from signalbox.transport.socket_address import canonical_address

log = logging.getLogger("signalbox.quotas")


def follow_quotas(config: NodeConfig, repository: ConfigRepository, clock: Clock) -> ClientQuotas:
    """Returns the present quotas, and updates them with each change."""
    # Kafka measures a rate over all windows except the current, incomplete one; controller mutations over all of them.
    windows = QuotaWindows(
        float((config["quota.window.num"] - 1) * config["quota.window.size.seconds"] or 1),
        float(config["controller.quota.window.num"] * config["controller.quota.window.size.seconds"]),
        1_000 * config["quota.window.size.seconds"],
    )
    quotas = ClientQuotas(windows, clock.monotonic)
    for entity_path, configs in repository.entities().items():
        quotas.take_configs(entity_path, configs)
    repository.subscribe(quotas.take_configs)
    return quotas


def follow_address_rates(repository: ConfigRepository, clock: Clock) -> AddressRates:
    """Returns the connection creation rates by address, and updates them with each change."""
    rates = AddressRates(clock)

    def take(entity_path: str, configs: Configs) -> None:
        entity = quota_entity(entity_path)
        if entity is None or IP not in entity:
            return
        try:
            rate = quotas_of(entity, configs).get(CONNECTION_CREATION_RATE)
            address = None if entity[IP] is None else canonical_address(str(entity[IP]))
        except ValueError as error:
            log.error("Invalid quotas ignored (path=%s): %s", entity_path, error)
            return
        rates.set(address, None if rate is None else int(rate))

    for entity_path, configs in repository.entities().items():
        take(entity_path, configs)
    repository.subscribe(take)
    return rates
