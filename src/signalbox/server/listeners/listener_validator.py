"""Whether this broker can apply dynamic configs of its listeners, its files included: checked before a change is
stored, and again when the metadata store reports a change (KIP-226). The error texts contain no secret."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from signalbox.broker.configs.broker_config_validator import Validation
from signalbox.common.config.config_table import ConfigFault, read_listener_key
from signalbox.common.inter_broker_protocol import forwards
from signalbox.configuration.configuration import NODE_CONFIG, NodeConfig
from signalbox.configuration.dynamic_broker_config import DynamicBrokerConfig
from signalbox.configuration.principals import principal_faults
from signalbox.configuration.security_config import Listeners, read_listeners
from signalbox.metadata.entries.entity_config import Configs
from signalbox.network.acceptors.socket_server import SocketServer
from signalbox.network.listeners.listener_security import ListenerSecurity
from signalbox.network.listeners.listener_table import ListenerTable, read_listener_table
from signalbox.network.listeners.listener_table_change import change_faults
from signalbox.network.listeners.network_settings import listener_prefix
from signalbox.security.sasl.scram import ScramCredentials
from signalbox.server.listeners.tls_renewal import TlsChange, TlsRenewal


@dataclass(frozen=True, slots=True)
class Proposal:
    """The listeners after a change: `listeners` has all of them, built from all keys in `originals`; `tls` and `logins`
    have those whose TLS and SASL are to be replaced, `principals` the names of those with new principal mapping
    rules."""

    listeners: Listeners
    originals: Mapping[str, str]
    tls: tuple[TlsChange, ...]
    logins: Mapping[str, ListenerSecurity]
    principals: tuple[str, ...]
    faults: tuple[str, ...]


class ListenerValidator:
    """`applied` are the dynamic configs that are in effect."""

    def __init__(
        self,
        config: NodeConfig,
        dynamic: DynamicBrokerConfig,
        scram_credentials: ScramCredentials,
        server: SocketServer,
        renewal: TlsRenewal,
    ) -> None:
        self._config = config
        self._dynamic = dynamic
        self._scram_credentials = scram_credentials
        self._server = server
        self._renewal = renewal
        self.applied: Configs = dynamic.changed_live()

    async def validate(self, for_all: Configs | None, for_this: Configs | None) -> Validation:
        """The consequences if these were the configs of all brokers, or of this one (None: unchanged)."""
        proposal = await self.propose(self._dynamic.live_with(for_all, for_this))
        return Validation(proposal.faults, () if proposal.faults else self._cut_off(proposal))

    def _cut_off(self, proposal: Proposal) -> list[str]:
        """A text for each address with more open connections than the proposed limit, unless the present limit is the
        same."""
        now = {address: limit for address, _, limit in self._server.connections_over(self._server.settings)}
        return [
            f"{address} has {open_now} connections to node {self._config.node_id} open and would be limited to {limit}"
            " (max.connections.per.ip): new connections from it would be rejected until enough of them have closed"
            for address, open_now, limit in self._server.connections_over(proposal.listeners.network)
            if limit != now.get(address)
        ]

    async def propose(self, live: Configs, revalidated_keys: Iterable[str] = ()) -> Proposal:
        """Returns the listeners with these dynamic configs; keys named in `again` count as changed. Reads files, in a
        thread."""
        return await asyncio.to_thread(self._propose, live, [*self.changed(live), *revalidated_keys])

    def changed(self, live: Configs) -> list[str]:
        """The keys whose values in `live` are not in effect yet, and the keys whose files were replaced."""
        different = {key for key in live.keys() | self.applied.keys() if live.get(key) != self.applied.get(key)}
        return sorted(different.union(self._renewal.replaced_files()))

    def _propose(self, live: Configs, changed: list[str]) -> Proposal:
        originals = {**self._config.originals, **live}
        listeners, faults = read_listeners(self._config, live, self._scram_credentials)
        table, _ = read_listener_table(originals)
        if table is not None:
            faults = change_faults(self._server.table, table) + faults
            faults += principal_faults(listeners.network, [row.name for row in table], forwards(self._config.values))
        changes = []
        for name in () if faults else self._with_other_tls(changed, listeners.table):
            change, more = self._renewal.prepare(name, originals)
            faults += more
            if change is not None:
                changes.append(change)
        logins = {
            name: security
            for name, security in listeners.security.items()
            if name in self._server.table and _touches_logins(name, changed)
        }
        principals = tuple(
            row.name
            for row in listeners.table
            if row.name not in self._server.table or _touches_rules(row.name, changed)
        )
        fault_texts = tuple(str(_without_secret(fault)) for fault in faults)
        return Proposal(listeners, originals, tuple(changes), logins, principals, fault_texts)

    def _with_other_tls(self, changed: list[str], table: ListenerTable) -> list[str]:
        return [
            row.name
            for row in self._server.table
            if row.name in table
            and self._server.tls_of(row.name) is not None
            and any(key.startswith(listener_prefix(row.name) + "ssl.") for key in changed)
        ]


def _touches_logins(listener: str, changed: list[str]) -> bool:
    prefix = listener_prefix(listener)
    return any(key.startswith(prefix) and ("sasl." in key or "reauth" in key) for key in changed)


def _touches_rules(listener: str, changed: list[str]) -> bool:
    return f"{listener_prefix(listener)}ssl.principal.mapping.rules" in changed


def _without_secret(fault: ConfigFault) -> ConfigFault:
    key = read_listener_key(fault.key, NODE_CONFIG)
    row = key.row if key is not None else NODE_CONFIG.get(fault.key)
    return replace(fault, entry="") if row is not None and row.sensitive else fault
