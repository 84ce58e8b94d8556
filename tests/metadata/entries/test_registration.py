"""Broker registrations: JSON versions 1 to 5 are read, 4 and 5 are written (SPEC L8, C2)."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.common.endpoint import Endpoint, SecurityProtocol
from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.entries.registration import BrokerRegistration, RegisteredLogDir, decode_registration

SSL, PLAINTEXT, SASL_SSL = SecurityProtocol.SSL, SecurityProtocol.PLAINTEXT, SecurityProtocol.SASL_SSL

BROKER = BrokerRegistration(
    broker_id=1,
    endpoints=(
        Endpoint("CLIENT", "public.example", 9093, SSL),
        Endpoint("REPLICATION", "10.0.0.1", 9092, PLAINTEXT),
        Endpoint("CONTROL", "::1", 9094, PLAINTEXT),
    ),
    rack="r1",
    timestamp_ms=1_700_000_000_000,
)


@pytest.mark.spec("L8")
def test_L8_version_5_as_kafka_writes_it() -> None:
    assert json.loads(BROKER.encode()) == {
        "version": 5,
        "host": "10.0.0.1",
        "port": 9092,
        "jmx_port": -1,
        "timestamp": "1700000000000",
        "endpoints": ["CLIENT://public.example:9093", "REPLICATION://10.0.0.1:9092", "CONTROL://[::1]:9094"],
        "rack": "r1",
        "listener_security_protocol_map": {"CLIENT": "SSL", "REPLICATION": "PLAINTEXT", "CONTROL": "PLAINTEXT"},
        "features": {},
    }


@pytest.mark.spec("L8")
def test_L8_version_4_has_no_features() -> None:
    payload = json.loads(BROKER.encode(version=4))
    assert payload["version"] == 4
    assert "features" not in payload


@pytest.mark.spec("L8")
def test_L8_host_and_port_are_null_without_a_plaintext_protocol() -> None:
    # The listener is *named* PLAINTEXT, but its security protocol is SASL_SSL.
    named = Endpoint("PLAINTEXT", "h", 9092, SASL_SSL)
    payload = json.loads(replace(BROKER, endpoints=(named,)).encode())
    assert (payload["host"], payload["port"]) == (None, -1)


def test_a_rack_that_is_not_set_is_left_out() -> None:
    assert "rack" not in json.loads(replace(BROKER, rack=None).encode())


@pytest.mark.spec("C2", "L12")
@pytest.mark.parametrize(
    ("listener_names", "control", "privileged"),
    [
        ({}, "REPLICATION", "REPLICATION"),  # brokers that register no listener names: the sender's own name
        ({"inter_broker_listener": "CLIENT"}, "CLIENT", "CLIENT"),
        ({"inter_broker_listener": "CLIENT", "control_plane_listener": "CONTROL"}, "CONTROL", "CLIENT"),
        ({"control_plane_listener": "CONTROL", "privileged_listener": "CONTROL"}, "CONTROL", "CONTROL"),
        ({"control_plane_listener": "NONE", "privileged_listener": "NONE"}, None, None),
        ({"inter_broker_listener": "NONE"}, None, None),
    ],
)
def test_where_brokers_send_is_the_targets_own_setting(
    listener_names: dict[str, str], control: str | None, privileged: str | None
) -> None:
    target = replace(BROKER, **listener_names)  # type: ignore[arg-type]
    found = (target.control_endpoint("REPLICATION"), target.privileged_endpoint("REPLICATION"))
    assert [endpoint and endpoint.listener_name for endpoint in found] == [control, privileged]


@pytest.mark.spec("C2")
def test_C2_our_two_extra_keys() -> None:
    broker = replace(BROKER, control_plane_listener="CONTROL", privileged_listener="REPLICATION")
    payload = json.loads(broker.encode())
    assert (payload["control_plane_listener"], payload["privileged_listener"]) == ("CONTROL", "REPLICATION")
    assert decode_registration(1, broker.encode()) == broker
    assert "control_plane_listener" not in json.loads(BROKER.encode())


@pytest.mark.spec("L8")
@pytest.mark.parametrize("version", [4, 5])
def test_round_trip(version: int) -> None:
    assert decode_registration(1, BROKER.encode(version)) == BROKER


@pytest.mark.spec("L8")
def test_version_1_is_one_plaintext_endpoint() -> None:
    old = b'{"version":1,"host":"h","port":9092,"jmx_port":9999,"timestamp":"5","extra":{}}'
    broker = decode_registration(3, old)
    assert broker.endpoints == (Endpoint("PLAINTEXT", "h", 9092, PLAINTEXT),)
    assert (broker.jmx_port, broker.timestamp_ms, broker.rack) == (9999, 5, None)


@pytest.mark.spec("L8")
def test_versions_2_and_3_name_listeners_after_protocols() -> None:
    old = {"version": 3, "jmx_port": -1, "host": None, "port": -1, "endpoints": ["SSL://h:1"], "rack": "r"}
    assert decode_registration(3, json.dumps(old).encode()).endpoints == (Endpoint("SSL", "h", 1, SSL),)


@pytest.mark.spec("L8")
def test_listener_names_of_foreign_writers_are_normalized() -> None:
    foreign = {
        "version": 4,
        "jmx_port": -1,
        "endpoints": ["client://h:1"],
        "listener_security_protocol_map": {"Client": "SSL"},
    }
    assert decode_registration(3, json.dumps(foreign).encode()).endpoint("CLIENT") == Endpoint("CLIENT", "h", 1, SSL)


@pytest.mark.parametrize(
    "payload",
    [
        None,
        b"",
        b"[]",
        b'{"version":0,"jmx_port":-1}',
        b'{"version":4,"jmx_port":-1}',
        b'{"jmx_port":-1}',
        b'{"version":4,"endpoints":[]}',
        b'{"version":2,"jmx_port":-1,"endpoints":["CLIENT://h:1"]}',
        b'{"version":4,"jmx_port":-1,"endpoints":["h:1"],"listener_security_protocol_map":{}}',
        b'{"version":4,"jmx_port":-1,"endpoints":["A://h:x"],"listener_security_protocol_map":{"A":"SSL"}}',
    ],
)
def test_the_error_of_a_corrupt_registration_names_its_entry(payload: bytes | None) -> None:
    with pytest.raises(BadEntry, match="/brokers/ids/7"):
        decode_registration(7, payload)


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_read_or_rejected(payload: bytes) -> None:
    with contextlib.suppress(BadEntry):
        assert decode_registration(1, payload).broker_id == 1


@pytest.mark.spec("D3", "L8")
def test_log_directories_are_a_key_of_ours() -> None:
    registration = replace(BROKER, log_dirs=(RegisteredLogDir(b"a" * 16, 7), RegisteredLogDir(b"b" * 16)))
    assert json.loads(registration.encode())["log_dirs"] == [
        {"id": "YWFhYWFhYWFhYWFhYWFhYQ", "previous_broker_epoch": 7},
        {"id": "YmJiYmJiYmJiYmJiYmJiYg", "previous_broker_epoch": -1},
    ]
    assert decode_registration(1, registration.encode()) == registration
    assert "log_dirs" not in json.loads(BROKER.encode())
    with pytest.raises(BadEntry):
        decode_registration(1, BROKER.encode().replace(b"}", b'},"log_dirs":[{"id":"x"}]', 1))
