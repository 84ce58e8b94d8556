"""What lets a node's listeners change while it runs: who judges a change, who obeys it, who tells the cluster."""

from __future__ import annotations

from signalbox.broker.own_configs import OwnConfigs
from signalbox.metadata.registration_keeper import RegistrationKeeper
from signalbox.network.socket_server import SocketServer
from signalbox.wiring.listeners.judge import ListenerJudge
from signalbox.wiring.listeners.reload import ListenerReload, Renewed
from signalbox.wiring.listeners.tls_renewal import TlsRenewal
from signalbox.wiring.own_registration import own_registration
from signalbox.wiring.replica_side import Surroundings


def build_live_listeners(
    around: Surroundings, server: SocketServer, keeper: RegistrationKeeper, own: OwnConfigs
) -> ListenerReload:
    """Not started. `own` is given its judge."""
    config, guards = around.config, around.guards
    renewal = TlsRenewal(server, guards.peers)
    judge = ListenerJudge(config, around.dynamic, around.users, server, renewal)

    async def announce() -> None:
        await keeper.update(own_registration(config, server.table, around.clock.now_ms()))

    renewed = Renewed(server, renewal, guards.peers, guards.principals)
    reload = ListenerReload(around.dynamic, judge, renewed, announce)
    own.judge, own.look_again = judge.faults, reload.look_again
    return reload
