"""Client quotas, out of the dynamic configs of users and client ids."""

from __future__ import annotations

from signalbox.broker.client_quotas import ClientQuotas, QuotaWindows
from signalbox.common.clock import Clock
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.wiring.configuration import NodeConfig


def follow_quotas(config: NodeConfig, repository: ConfigRepository, clock: Clock) -> ClientQuotas:
    """The quotas as they stand, and as they change from here on."""
    # Kafka measures a rate over all windows but the one that is just filling; a change is let through over all.
    windows = QuotaWindows(
        float((config["quota.window.num"] - 1) * config["quota.window.size.seconds"] or 1),
        float(config["controller.quota.window.num"] * config["controller.quota.window.size.seconds"]),
    )
    quotas = ClientQuotas(windows, clock.monotonic)
    for entity_path, configs in repository.entities().items():
        quotas.take_configs(entity_path, configs)
    repository.subscribe(quotas.take_configs)
    return quotas
