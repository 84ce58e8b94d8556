"""One broker's configuration among those of its peers, for the rules that compare several brokers."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from signalbox.common.config.config_table import ConfigFault
from signalbox.common.config.properties_file import Properties
from signalbox.common.endpoint import Endpoint
from signalbox.configuration.configuration import NodeConfig
from signalbox.configuration.metadata_store import store_setting
from signalbox.metadata.store.zookeeper.connect_string import parse_connect_string
from signalbox.network.listeners.listener_entry import ADVERTISED_LISTENERS, LISTENERS
from signalbox.network.listeners.listener_table import ListenerTable
from signalbox.network.listeners.network_settings import ListenerSettings, read_network_settings

_FILE = "file"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class CheckedBroker:
    """A configuration without faults of its own, with the text that it was read from."""

    properties: Properties
    config: NodeConfig

    def __str__(self) -> str:
        return f"{self.name} ({self.properties.origin})"

    @property
    def name(self) -> str:
        """The role and the id of the node."""
        return f"{'broker' if self.config.runs_broker else 'controller'} {self.config.node_id}"

    @property
    def table(self) -> ListenerTable:
        return self.config.listeners

    @property
    def advertised_key(self) -> str:
        """The key that sets the advertised addresses."""
        return ADVERTISED_LISTENERS if self.config.originals.get(ADVERTISED_LISTENERS, "").strip() else LISTENERS

    @property
    def advertised(self) -> dict[str, Endpoint]:
        """The advertised endpoints by listener name."""
        return {endpoint.listener_name: endpoint for endpoint in self.table.advertised_endpoints()}

    @property
    def log_dirs_key(self) -> str:
        return "log.dirs" if self.config["log.dirs"] else "log.dir"

    @property
    def log_dirs(self) -> dict[str, str]:
        """Absolute path → path as it is written."""
        return {os.path.abspath(text): text for text in self.config["log.dirs"] or [self.config["log.dir"]]}

    @property
    def of_brokers(self) -> list[str]:
        """Names of its own listeners that brokers and controllers connect to: the inter-broker listener, the control
        plane if there is one, and the first listener of a dedicated controller."""
        table = self.table
        names = [table.inter_broker_listener_name, table.control_plane_listener_name] if self.config.runs_broker else []
        names += table.controller_listener_names[:1] if self.config.has_controller_listener else ()
        return [name for name in names if name is not None]

    def inter_node_endpoint(self, listener_name: str) -> Endpoint:
        """The advertised endpoint of one of `of_brokers`."""
        endpoint = self.table.row(listener_name).advertised
        assert endpoint is not None
        return endpoint

    def settings(self, listener_name: str) -> ListenerSettings:
        """The settings in its keys for a listener, its own or a peer's."""
        return read_network_settings(self.config.originals, [listener_name])[0].listener(listener_name)

    def fault(self, key: str, entry: str, problem: str, remedy: str) -> ConfigFault:
        """A fault in a key of this broker, with file and line of the key."""
        return ConfigFault(key, entry, problem, remedy, self.properties.where(key))


def share_store(one: CheckedBroker, other: CheckedBroker) -> bool:
    """Whether both keep their metadata in one store: the same file, or the same path of one ensemble."""
    one_store, other_store = (_store(broker) for broker in (one, other))
    return one_store[0] == other_store[0] and bool(one_store[1] & other_store[1])


def share_host(one: CheckedBroker, other: CheckedBroker) -> bool:
    """Whether both run on one machine, as far as configurations show it: a common SQLite file, or a common advertised
    host name on the listeners of brokers. On the listeners of clients it may be a proxy in front of several machines,
    so these count only if the others have no host names."""
    hosts = [_hosts(broker, broker.of_brokers) for broker in (one, other)]
    if not all(hosts):
        hosts = [_hosts(broker, broker.advertised) for broker in (one, other)]
    return bool(set.intersection(*hosts)) or (share_store(one, other) and _store(one)[0] == _FILE)


def _hosts(broker: CheckedBroker, listener_names: Iterable[str]) -> set[str]:
    """The host names that these listeners advertise."""
    endpoints = [broker.advertised[name] for name in listener_names if name in broker.advertised]
    return {host_identity(endpoint.host) for endpoint in endpoints} - {""}


def _store(broker: CheckedBroker) -> tuple[str, frozenset[str]]:
    """The kind of the store (with the path in the ensemble) and its addresses; one common address means one
    ensemble."""
    _, setting = store_setting(broker.config.values)
    kind, _, location = setting.partition(":")
    if kind != "zookeeper":
        return _FILE, frozenset({os.path.abspath(location)})
    ensemble = parse_connect_string(location)
    return f"zookeeper{ensemble.chroot}", frozenset(ensemble.hosts.lower().split(","))


def host_identity(host: str) -> str:
    """The name by which hosts are compared: all loopback names are equal."""
    return "localhost" if host.lower() in _LOOPBACK else host.lower()
