"""Builds the components that change a node's listeners while it runs: the validator of a change, the reload that
applies it, and the update of the registration."""

from __future__ import annotations

from collections.abc import Sequence

from signalbox.broker.configs.broker_config_validator import BrokerConfigValidator
from signalbox.metadata.broker_registrar import BrokerRegistrar
from signalbox.network.acceptors.socket_server import SocketServer
from signalbox.server.listeners.listener_validator import ListenerValidator
from signalbox.server.listeners.reload import ListenerReload, Renewed
from signalbox.server.listeners.tls_renewal import TlsRenewal
from signalbox.server.node_registration import broker_registration
from signalbox.storage.directories.log_directory import LogDirectory
from signalbox.wiring.replication_components import BrokerContext


def build_live_listeners(
    context: BrokerContext, server: SocketServer, registrar: BrokerRegistrar, config_validator: BrokerConfigValidator,
    directories: Sequence[LogDirectory],
) -> ListenerReload:  # fmt: skip
    """Returns the reload, not yet started. Sets the validator of `own`."""
    config, security = context.config, context.security
    renewal = TlsRenewal(server, security.peers)
    validator = ListenerValidator(config, context.dynamic, context.users, server, renewal)

    async def announce() -> None:
        await registrar.update(broker_registration(config, server.table, context.clock.now_ms(), directories))

    renewed = Renewed(server, renewal, security.peers, security.principals)
    reload = ListenerReload(context.dynamic, validator, renewed, announce)
    config_validator.validator, config_validator.revalidate = validator.validate, reload.revalidate
    return reload
