"""Dynamic configs of this broker's listeners, obeyed as soon as the store tells of them (KIP-226): connection limits,
TLS, SASL, and the listeners themselves. Connections that stand are left alone; those that come find the new ones.

A listener that is added is bound first and told of then; one that is removed is taken from the registration first, so
that clients hear of it from the controller, and its connections are closed after a while.

They have been judged before they were stored. What cannot be obeyed all the same, because a file has gone meanwhile or
another program stored it, is said in the log and tried again later, and everything stays as it was.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.entity_config import Configs
from signalbox.metadata.store.port import StoreError
from signalbox.network.binding import BindError
from signalbox.network.socket_server import SocketServer
from signalbox.wiring.dynamic_broker_config import DynamicBrokerConfig
from signalbox.wiring.listeners.judge import ListenerJudge, Proposal
from signalbox.wiring.listeners.tls_renewal import TlsRenewal
from signalbox.wiring.peer_security import PeerSecurity
from signalbox.wiring.principals import Principals

DRAIN_SECONDS = 2.0  # for clients of a listener that was removed, to hear of it and go elsewhere
_RETRY_S = 5.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Renewed:
    """What is told of other listeners and of other keys for them."""

    server: SocketServer
    tls: TlsRenewal
    peers: PeerSecurity
    principals: Principals


class ListenerReload:
    """`start` when the sockets are served: what was changed between the start and then is caught up with. `announce`
    registers what the server's table says now."""

    def __init__(
        self,
        dynamic: DynamicBrokerConfig,
        judge: ListenerJudge,
        renewed: Renewed,
        announce: Callable[[], Awaitable[None]],
    ) -> None:
        self.judge = judge
        self._dynamic = dynamic
        self._renewed = renewed
        self._announce = announce
        self._news = asyncio.Event()
        self._cancel: Callable[[], None] | None = None
        self._following: asyncio.Task[None] | None = None
        self._unannounced = False
        self._said: tuple[str, ...] = ()
        self._again: set[str] = set()
        self._later: asyncio.TimerHandle | None = None

    def start(self, repository: ConfigRepository) -> None:
        """Follow the changes."""
        self._cancel = repository.subscribe(self._changed)
        self._news.set()
        self._following = asyncio.get_running_loop().create_task(self._follow())

    def look_again(self, keys: Sequence[str]) -> None:
        """The files that these keys name may have been replaced."""
        self._again.update(keys)
        self._news.set()

    async def stop(self) -> None:
        self._rest()
        if self._cancel is not None:
            self._cancel()
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)

    def _changed(self, entity_path: str, configs: Configs) -> None:
        if self._dynamic.is_set_by(entity_path):
            self._news.set()

    async def _follow(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                await self._obey()
            except (BindError, StoreError) as error:
                self._try_again((str(error),))
            except Exception:
                log.exception("dynamic configs of listeners")

    async def _obey(self) -> None:
        live = self._dynamic.changed_live()
        again = sorted(self._again)
        changed = sorted({*self.judge.changed(live), *again})
        if not changed:
            return
        proposal = await self.judge.propose(live, again)
        if proposal.faults:
            self._try_again(proposal.faults)
            return
        await self._apply(proposal)
        self.judge.obeyed, self._said = live, ()
        self._again.difference_update(again)
        log.info("obeyed from now on: %s", ", ".join(changed))

    def _try_again(self, faults: tuple[str, ...]) -> None:
        """Say what is wrong, once, and look again later: a file may come, a port may become free."""
        for fault in faults if faults != self._said else ():
            log.error("the dynamic configs of this broker's listeners are not obeyed: %s", fault)
        self._said = faults
        self._rest()
        self._later = asyncio.get_running_loop().call_later(_RETRY_S, self._news.set)

    def _rest(self) -> None:
        if self._later is not None:
            self._later.cancel()

    async def _apply(self, proposal: Proposal) -> None:
        doors, server = proposal.doors, self._renewed.server
        told = server.table.advertised_endpoints()
        self._renewed.principals.renew(doors.network, proposal.principals, proposal.given)
        server.add_listeners(doors.table, doors.network, doors.security)
        server.reconfigure(doors.network, proposal.logins)
        for change in proposal.tls:
            self._renewed.tls.apply(change)
        self._renewed.peers.renew(doors.network, proposal.logins)
        if server.table.advertised_endpoints() != told or self._unannounced:
            self._unannounced = True
            await self._announce()
            self._unannounced = False
        await server.remove_listeners(DRAIN_SECONDS)
