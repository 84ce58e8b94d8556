"""Dynamic configs of this broker's listeners, obeyed as soon as the store tells of them (KIP-226): connection limits,
TLS and SASL. Connections that stand are left alone; those that come find the new ones.

They have been judged before they were stored. What cannot be obeyed all the same, because a file has gone meanwhile or
another program stored it, is said in the log, and everything stays as it was.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.entity_config import Configs
from signalbox.network.socket_server import SocketServer
from signalbox.wiring.dynamic_broker_config import DynamicBrokerConfig
from signalbox.wiring.listener_judge import ListenerJudge, Proposal
from signalbox.wiring.peer_security import PeerSecurity
from signalbox.wiring.tls_renewal import TlsRenewal

log = logging.getLogger(__name__)


class ListenerReload:
    """`start` when the sockets are served: what was changed between the start and then is caught up with."""

    def __init__(
        self,
        dynamic: DynamicBrokerConfig,
        judge: ListenerJudge,
        server: SocketServer,
        renewal: TlsRenewal,
        peers: PeerSecurity,
    ) -> None:
        self.judge = judge
        self._dynamic = dynamic
        self._server = server
        self._renewal = renewal
        self._peers = peers
        self._news = asyncio.Event()
        self._cancel: Callable[[], None] | None = None
        self._following: asyncio.Task[None] | None = None

    def start(self, repository: ConfigRepository) -> None:
        """Follow the changes."""
        self._cancel = repository.subscribe(self._changed)
        self._news.set()
        self._following = asyncio.get_running_loop().create_task(self._follow())

    async def stop(self) -> None:
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
            except Exception:
                log.exception("dynamic configs of listeners")

    async def _obey(self) -> None:
        live = self._dynamic.changed_live()
        changed = self.judge.changed(live)
        if not changed:
            return
        proposal = await self.judge.propose(live)
        if proposal.faults:
            for fault in proposal.faults:
                log.error("the dynamic configs of this broker's listeners are not obeyed: %s", fault)
            return
        self._apply(proposal)
        self.judge.obeyed = live
        log.info("obeyed from now on: %s", ", ".join(changed))

    def _apply(self, proposal: Proposal) -> None:
        self._server.reconfigure(proposal.doors.network, proposal.logins)
        for change in proposal.tls:
            self._renewal.apply(change)
        self._peers.renew(proposal.doors.network)
