"""Settings that must be equal on brokers of one cluster, and those that may differ during a rolling change."""

from __future__ import annotations

import pytest

from signalbox.configuration.check import cluster_agreement as rules
from tests.configuration.check.brokers import broker

MAP = "CLIENT:PLAINTEXT,REPLICATION:{},CONTROL:PLAINTEXT,INTERNAL:PLAINTEXT"
INTERNAL = "CLIENT://h2:1,REPLICATION://h2:2,CONTROL://h2:3,INTERNAL://h2:4"
USUAL = {"listener__security__protocol__map": MAP.format("PLAINTEXT")}


def test_equal_configurations_have_no_faults() -> None:
    brokers = [broker(node_id) for node_id in (1, 2, 3)]
    for rule in (
        rules.one_store,
        rules.one_protocol,
        rules.reached_by_all,
        rules.one_inter_broker_listener,
        rules.one_control_plane,
        rules.one_side_of_the_gate,
        rules.same_listeners,
    ):
        assert list(rule(brokers)) == [], rule.__name__


def test_one_store() -> None:
    [fault] = rules.one_store([broker(1), broker(2), broker(3, signalbox__metadata__store="sqlite:/tmp/m.db")])
    assert (fault.key, fault.entry, fault.origin) == ("signalbox.metadata.store", "sqlite:/tmp/m.db", "3.properties")
    kafkas = broker(3, signalbox__metadata__store="", zookeeper__connect="zk9:2181/kafka")
    [fault] = rules.one_store([broker(1), kafkas])
    assert fault.key == "zookeeper.connect"


@pytest.mark.spec("L2")
def test_one_protocol() -> None:
    tls = broker(2, listener__security__protocol__map="CLIENT:SSL,REPLICATION:PLAINTEXT,CONTROL:PLAINTEXT")
    found = list(rules.one_protocol([broker(1), tls, broker(3)]))
    assert [(fault.entry, fault.origin) for fault in found] == [
        ("CLIENT:SSL", "2.properties"),
        ("CLIENT:PLAINTEXT", "3.properties"),
    ]


@pytest.mark.spec("L12")
def test_a_roll_of_the_inter_broker_listener() -> None:
    first = broker(1)
    rolled = broker(2, inter__broker__listener__name="INTERNAL", listeners=INTERNAL, **USUAL)
    [note] = rules.one_inter_broker_listener([first, rolled])
    assert (note.key, note.entry, note.origin) == ("inter.broker.listener.name", "INTERNAL", "2.properties")
    [fault] = rules.reached_by_all([first, rolled])
    assert (fault.key, fault.entry, fault.origin) == ("listeners", "CLIENT,REPLICATION,CONTROL", "1.properties")
    # In the correct order every broker has the new listener first.
    ready = broker(1, listeners=INTERNAL.replace("h2", "h1"), **USUAL)
    assert list(rules.reached_by_all([ready, rolled])) == []


@pytest.mark.spec("C6")
def test_the_two_rounds_of_the_control_plane() -> None:
    named, not_yet = broker(1), broker(2, control__plane__listener__name="")
    [note] = rules.one_control_plane([named, not_yet])
    assert (note.key, note.entry, note.origin) == ("control.plane.listener.name", "", "2.properties")
    without = broker(3, control__plane__listener__name="", listeners="CLIENT://h3:1,REPLICATION://h3:2")
    origins = [(note.key, note.origin) for note in rules.one_control_plane([named, without])]
    assert origins == [("control.plane.listener.name", "3.properties"), ("listeners", "3.properties")]
    forced = broker(2, control__plane__force__controller__requests__enable="true")
    [note] = rules.one_control_plane([named, forced])
    assert (note.key, note.entry) == ("control.plane.force.controller.requests.enable", "true")


@pytest.mark.spec("L10")
def test_a_listener_of_clients_that_a_broker_lacks() -> None:
    brokers = [
        broker(1, listeners=INTERNAL, **USUAL),
        broker(2),
        broker(3, listeners=INTERNAL.replace("h2", "h3"), **USUAL),
    ]
    [note] = rules.same_listeners(brokers)
    assert (note.key, note.origin) == ("listeners", "2.properties")
    assert "INTERNAL is advertised by broker 1 (1.properties), broker 3 (3.properties), and not here" in str(note)


def test_another_secret_of_delegation_tokens() -> None:
    secret = {"delegation__token__secret__key": "the secret"}
    old = {"delegation__token__master__key": "the secret"}
    assert list(rules.one_token_secret([broker(1, **secret), broker(2, **old)])) == []
    for other in ({}, {"delegation__token__secret__key": "another"}):
        [note] = rules.one_token_secret([broker(1, **secret), broker(2, **other)])
        assert (note.key, note.origin) == ("delegation.token.secret.key", "2.properties")
        assert "another" not in str(note)
        assert "the secret" not in str(note)


@pytest.mark.spec("F17")
def test_the_second_bounce_of_the_roll_out() -> None:
    version = "inter.broker.protocol.version"
    below, above = broker(1, inter__broker__protocol__version="3.3"), broker(2)
    [note] = rules.one_side_of_the_gate([below, above])
    assert (note.key, note.entry, note.origin) == (version, "3.9", "2.properties")
    assert "forwards changes, broker 1 (1.properties) has 3.3: the gate is 3.4" in note.problem
    [note] = rules.one_side_of_the_gate([above, below])
    assert "stores changes by itself" in note.problem
    [note] = rules.one_side_of_the_gate([above, broker(3, inter__broker__protocol__version="3.5")])
    assert (note.entry, note.problem) == ("3.5", "is 3.9 in broker 2 (2.properties)")
