"""What brokers of one cluster must agree on (KIP-103, KIP-291; SPEC L10, L12, C6).

A setting with which no cluster can work is a fault. A setting that is correct while a cluster is rolled from one value
to another, or that affects only some clients, is a note. Each rule compares all brokers in the order of the arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from signalbox.common.config.config_table import ConfigFault
from signalbox.common.inter_broker_protocol import FORWARDING_FROM, INTER_BROKER_PROTOCOL_KEY, forwards
from signalbox.configuration.check.checked_broker import CheckedBroker, share_store
from signalbox.configuration.delegation_tokens import TOKEN_SECRET, given_secret
from signalbox.configuration.metadata_store import store_setting
from signalbox.network.listeners.listener_entry import CONTROL_PLANE_NAME, LISTENERS, PROTOCOL_MAP
from signalbox.network.listeners.listener_roles import CONTROL_PLANE_FORCED, INTER_BROKER_NAME

_ROLL = "Right while the cluster is rolled from one to the other; set it alike otherwise"


def one_store(brokers: Sequence[CheckedBroker]) -> Iterator[ConfigFault]:
    """Fault: brokers with two stores are two clusters."""
    for broker in brokers[1:]:
        if not share_store(brokers[0], broker):
            key, setting = store_setting(broker.config.values)
            problem = f"is not the store of {brokers[0]}, {store_setting(brokers[0].config.values)[1]}"
            yield broker.fault(key, setting, problem, "Brokers of one cluster have one metadata store")


def one_protocol(brokers: Sequence[CheckedBroker]) -> Iterator[ConfigFault]:
    """Fault: a client uses one security protocol for a listener on all brokers."""
    stated_protocols = set()
    for first, second in combinations(brokers, 2):
        for row in second.table:
            other = first.table.row(row.name).security_protocol if row.name in first.table else row.security_protocol
            if other is not row.security_protocol and (second.config.node_id, row.name) not in stated_protocols:
                stated_protocols.add((second.config.node_id, row.name))
                entry = f"{row.name}:{row.security_protocol.name}"
                remedy = "Clients take one protocol for all brokers: set it alike, or use a new listener for the other"
                yield second.fault(PROTOCOL_MAP, entry, f"{row.name} is {other.name} in {first}", remedy)


def reached_by_all(brokers: Sequence[CheckedBroker]) -> Iterator[ConfigFault]:
    """Fault: a follower fetches over its own inter-broker listener, which every leader must advertise."""
    for broker in brokers:
        dialled_names = {other.table.inter_broker_listener_name: other for other in reversed(brokers)}
        for name, other in dialled_names.items():
            if name not in broker.advertised:
                problem = f"the inter-broker listener {name} of {other} is not advertised here: it could not fetch"
                remedy = f"Add {name} to {LISTENERS} and advertise it; brokers can be rolled to another one then"
                yield broker.fault(broker.advertised_key, ",".join(broker.advertised), problem, remedy)


def one_inter_broker_listener(brokers: Sequence[CheckedBroker]) -> Iterator[ConfigFault]:
    """Note: two inter-broker listeners mean that a roll is under way."""
    for broker in brokers[1:]:
        name, other = broker.table.inter_broker_listener_name, brokers[0].table.inter_broker_listener_name
        if name != other:
            yield broker.fault(INTER_BROKER_NAME, name, f"brokers use {other} in {brokers[0]}", _ROLL)


def one_control_plane(brokers: Sequence[CheckedBroker]) -> Iterator[ConfigFault]:
    """Note: the two rounds of the switch (C6), unfinished or in the wrong order."""
    for broker in brokers[1:]:
        here, first = broker.table, brokers[0].table
        name, other = here.control_plane_listener_name, first.control_plane_listener_name
        if name != other:
            problem = f"the control plane is {name or 'none'} here and {other or 'none'} in {brokers[0]}"
            yield broker.fault(CONTROL_PLANE_NAME, name or "", problem, _ROLL)
        elif here.control_plane_forced != first.control_plane_forced:
            text = "true" if here.control_plane_forced else "false"
            yield broker.fault(CONTROL_PLANE_FORCED, text, f"is otherwise in {brokers[0]}", _ROLL)
    for broker in brokers:
        for name in {other.table.control_plane_listener_name: None for other in brokers}:
            if name is not None and name not in broker.advertised:
                problem = f"{name}, the control plane of other brokers, is not advertised here"
                remedy = (
                    f"The first round of the switch adds {name} to {LISTENERS} of every broker, the second names it"
                )
                yield broker.fault(broker.advertised_key, ",".join(broker.advertised), problem, remedy)


def one_side_of_the_gate(brokers: Sequence[CheckedBroker]) -> Iterator[ConfigFault]:
    """Note: the second bounce of the roll-out is under way (F17)."""
    first = brokers[0]
    for broker in brokers[1:]:
        here, there = (node.config[INTER_BROKER_PROTOCOL_KEY] for node in (broker, first))
        if forwards(broker.config.values) != forwards(first.config.values):
            says = "forwards changes" if forwards(broker.config.values) else "stores changes by itself"
            problem = f"this broker {says}, {first} has {there}: the gate is {FORWARDING_FROM}"
            yield broker.fault(INTER_BROKER_PROTOCOL_KEY, here, problem, _ROLL)
        elif here != there:
            yield broker.fault(INTER_BROKER_PROTOCOL_KEY, here, f"is {there} in {first}", _ROLL)


def same_listeners(brokers: Sequence[CheckedBroker]) -> Iterator[ConfigFault]:
    """Note: if a broker lacks a listener, clients of that listener get LISTENER_NOT_FOUND for the partitions that it
    leads (L10)."""
    of_brokers = {name for broker in brokers for name in broker.of_brokers}
    for broker in brokers:
        for name in dict.fromkeys(name for other in brokers for name in other.advertised):
            if name not in broker.advertised and name not in of_brokers:
                having = ", ".join(str(other) for other in brokers if name in other.advertised)
                problem = f"{name} is advertised by {having}, and not here"
                remedy = f"Clients of {name} cannot reach what this broker leads: advertise it on all brokers"
                yield broker.fault(broker.advertised_key, ",".join(broker.advertised), problem, remedy)


def one_token_secret(brokers: Sequence[CheckedBroker]) -> Iterator[ConfigFault]:
    """Note: a token of one broker is not valid on a broker with another secret (KIP-48)."""
    for broker in brokers[1:]:
        if given_secret(broker.config.values) != given_secret(brokers[0].config.values):
            problem = f"is not what {brokers[0]} has: its delegation tokens are rejected here"
            yield broker.fault(TOKEN_SECRET, "", problem, "Set the same secret on every broker, or none")
