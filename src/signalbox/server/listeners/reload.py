"""Applies dynamic configs of this broker's listeners as soon as the metadata store reports them (KIP-226): connection
limits, TLS, SASL, and the listeners themselves. Open connections keep their settings; new connections get the new ones.

A listener that is added is bound first and registered then. A listener that is removed is first removed from the
registration, so that clients no longer get its address; its connections are closed after a while.

Changes are validated before they are stored. A change that cannot be applied nevertheless, because a file has been
removed since or another program stored it, is logged and retried later; until then nothing changes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from signalbox.configuration.dynamic_broker_config import DynamicBrokerConfig
from signalbox.configuration.peer_security import PeerSecurity
from signalbox.configuration.principals import Principals
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.entries.entity_config import Configs
from signalbox.metadata.store.port import StoreError
from signalbox.network.acceptors.binding import BindError
from signalbox.network.acceptors.socket_server import SocketServer
from signalbox.server.listeners.listener_validator import ListenerValidator, Proposal
from signalbox.server.listeners.tls_renewal import TlsRenewal

DRAIN_SECONDS = 2.0  # so that clients of a removed listener can connect elsewhere
_RETRY_S = 5.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Renewed:
    """The components that get the changed listeners and keys."""

    server: SocketServer
    tls: TlsRenewal
    peers: PeerSecurity
    principals: Principals


class ListenerReload:
    """Call `start` when the sockets are served: it also applies changes that were stored since the node's start.
    `announce` registers the server's current listener table."""

    def __init__(
        self,
        dynamic: DynamicBrokerConfig,
        validator: ListenerValidator,
        renewed: Renewed,
        announce: Callable[[], Awaitable[None]],
    ) -> None:
        self.validator = validator
        self._dynamic = dynamic
        self._renewed = renewed
        self._announce = announce
        self._wake = asyncio.Event()
        self._cancel: Callable[[], None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._unregistered = False
        self._logged_faults: tuple[str, ...] = ()
        self._revalidated_keys: set[str] = set()
        self._later: asyncio.TimerHandle | None = None

    def start(self, repository: ConfigRepository) -> None:
        """Subscribe to changes and apply them."""
        self._cancel = repository.subscribe(self._changed)
        self._wake.set()
        self._task = asyncio.get_running_loop().create_task(self._follow())

    def revalidate(self, keys: Sequence[str]) -> None:
        """Check again: the files that these keys name may have been replaced."""
        self._revalidated_keys.update(keys)
        self._wake.set()

    async def stop(self) -> None:
        self._cancel_retry()
        if self._cancel is not None:
            self._cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _changed(self, entity_path: str, configs: Configs) -> None:
        if self._dynamic.is_set_by(entity_path):
            self._wake.set()

    async def _follow(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self._apply_changes()
            except (BindError, StoreError) as error:
                self._retry_later((str(error),))
            except Exception:
                log.exception("Dynamic configs of listeners cannot be applied")

    async def _apply_changes(self) -> None:
        live = self._dynamic.changed_live()
        revalidated_keys = sorted(self._revalidated_keys)
        changed = sorted({*self.validator.changed(live), *revalidated_keys})
        if not changed:
            return
        proposal = await self.validator.propose(live, revalidated_keys)
        if proposal.faults:
            self._retry_later(proposal.faults)
            return
        await self._apply(proposal)
        self.validator.applied, self._logged_faults = live, ()
        self._revalidated_keys.difference_update(revalidated_keys)
        log.info("Dynamic configs applied: %s", ", ".join(changed))

    def _retry_later(self, faults: tuple[str, ...]) -> None:
        """Log the faults once, and retry later: a missing file may appear, a port may become free."""
        for fault in faults if faults != self._logged_faults else ():
            log.error("Invalid dynamic configs of this broker's listeners ignored: %s", fault)
        self._logged_faults = faults
        self._cancel_retry()
        self._later = asyncio.get_running_loop().call_later(_RETRY_S, self._wake.set)

    def _cancel_retry(self) -> None:
        if self._later is not None:
            self._later.cancel()

    async def _apply(self, proposal: Proposal) -> None:
        listeners, server = proposal.listeners, self._renewed.server
        endpoints_before = server.table.advertised_endpoints()
        self._renewed.principals.renew(listeners.network, proposal.principals, proposal.originals)
        server.add_listeners(listeners.table, listeners.network, listeners.security)
        server.reconfigure(listeners.network, proposal.logins)
        for change in proposal.tls:
            self._renewed.tls.apply(change)
        self._renewed.peers.renew(listeners.network, proposal.logins)
        if server.table.advertised_endpoints() != endpoints_before or self._unregistered:
            self._unregistered = True
            await self._announce()
            self._unregistered = False
        await server.remove_listeners(DRAIN_SECONDS)
