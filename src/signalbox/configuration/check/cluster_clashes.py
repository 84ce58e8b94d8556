"""What brokers of one cluster must not share: an id, an advertised address, a port or a folder of one machine.

Each rule compares all brokers in the order of the arguments and reports the later one of two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from signalbox.common.config.config_table import ConfigFault
from signalbox.common.endpoint import Endpoint, host_port
from signalbox.configuration.check.checked_broker import CheckedBroker, host_identity, share_host
from signalbox.configuration.check.metrics_port import same_address
from signalbox.network.listeners.listener_entry import LISTENERS
from signalbox.network.listeners.listener_table import ListenerRow

_METRICS_PORT = "signalbox.metrics.http.port"


def same_id(brokers: Sequence[CheckedBroker]) -> Iterator[ConfigFault]:
    """The second broker with an id would wait until the first one ends (L8)."""
    for first, second in combinations(brokers, 2):
        if first.config.node_id == second.config.node_id:
            key = "node.id" if second.config["node.id"] >= 0 else "broker.id"
            problem = f"is the id in {first.properties.origin} as well"
            yield second.fault(key, str(second.config.node_id), problem, "Give every broker an id of its own")


def same_advertised_address(brokers: Sequence[CheckedBroker]) -> Iterator[ConfigFault]:
    """Clients would reach only one of two brokers with the same advertised address."""
    for first, second in combinations(brokers, 2):
        for endpoint in second.advertised.values():
            for taken in first.advertised.values():
                if _is_one_address(endpoint, taken):
                    problem = f"{first} advertises {host_port(taken.host, taken.port)} as {taken.listener_name}"
                    remedy = "Clients would reach one of the two: advertise an address of this broker's own"
                    yield second.fault(second.advertised_key, str(endpoint), problem, remedy)


def same_port(brokers: Sequence[CheckedBroker]) -> Iterator[ConfigFault]:
    """The second of two brokers on one machine could not bind the port. What `same_advertised_address` reports is not
    repeated."""
    for first, second in combinations(brokers, 2):
        if not share_host(first, second):
            continue
        for row in second.table:
            for bound_listener in first.table:
                if _is_one_port(row, bound_listener) and not (
                    row.advertised
                    and bound_listener.advertised
                    and _is_one_address(row.advertised, bound_listener.advertised)
                ):
                    problem = f"{first} binds port {row.port} of this machine for {bound_listener.name}"
                    entry = f"{row.name}://{host_port(row.host, row.port)}"
                    yield second.fault(LISTENERS, entry, problem, "Give every listener of a machine its own port")
        port, host = second.config[_METRICS_PORT], second.config["signalbox.metrics.http.host"]
        taken_by_first = port > 0 and port == first.config[_METRICS_PORT]
        if taken_by_first and same_address(host, first.config["signalbox.metrics.http.host"]):
            problem = f"{first} has its metrics on port {port} of this machine"
            yield second.fault(_METRICS_PORT, str(port), problem, "Give the page another port, or 0 for any free one")


def same_log_dirs(brokers: Sequence[CheckedBroker]) -> Iterator[ConfigFault]:
    """A log directory belongs to one broker."""
    for first, second in combinations(brokers, 2):
        if share_host(first, second):
            for path in sorted(first.log_dirs.keys() & second.log_dirs.keys()):
                problem = f"is a log directory of {first}, on this machine too"
                remedy = "A folder belongs to one broker: name another"
                yield second.fault(second.log_dirs_key, second.log_dirs[path], problem, remedy)


def _is_one_address(one: Endpoint, other: Endpoint) -> bool:
    """A blank host means each machine's own name, port 0 means any port: neither is compared."""
    both_known = one.host and one.port
    return bool(both_known) and (host_identity(one.host), one.port) == (host_identity(other.host), other.port)


def _is_one_port(one: ListenerRow, other: ListenerRow) -> bool:
    return bool(one.port) and one.port == other.port and same_address(one.host, other.host)
