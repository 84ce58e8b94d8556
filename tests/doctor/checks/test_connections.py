from __future__ import annotations

from typing import Any

import pytest

from signalbox.doctor.checks.connections import check_connections, check_names, check_reachable
from signalbox.doctor.observations import Certificate, Fault
from tests.doctor.samples import advertised, codes_of, connection, failed, listener, seed

pytestmark = pytest.mark.spec("R8")


def test_names_without_an_address() -> None:
    rows = listener(seed(2), advertised(2, resolve_text="unknown", ips=()), advertised(3, examined=False, ips=()))
    unresolved, late = check_names(rows)
    assert (unresolved.code, unresolved.value) == ("UNRESOLVED", "kafka:9092")
    assert (late.code, late.node_id) == ("NOT_EXAMINED", 3)


def test_a_node_that_responds_at_the_bootstrap_address_should_advertise_it() -> None:
    rows = listener(seed(1), advertised(1, connections=(failed(Fault.CONNECTION_REFUSED),)))
    (finding,) = check_connections(rows)
    assert (finding.code, finding.key, finding.value) == ("CONNECTION_REFUSED", "advertised.listeners", "kafka:9092")


@pytest.mark.parametrize(
    ("protocol", "fault", "fields", "value"),
    [
        ("PLAINTEXT", Fault.TLS_EXPECTED, {}, "SSL"),
        ("SASL_PLAINTEXT", Fault.TLS_EXPECTED, {}, "SASL_SSL"),
        ("SSL", Fault.TLS_MISSING, {}, "PLAINTEXT"),
        ("SASL_SSL", Fault.TLS_MISSING, {}, "SASL_PLAINTEXT"),
        ("PLAINTEXT", Fault.SASL_EXPECTED, {}, "SASL_PLAINTEXT"),
        ("SSL", Fault.SASL_EXPECTED, {}, "SASL_SSL"),
        ("SASL_SSL", Fault.SASL_MISSING, {}, "SSL"),
        ("SASL_SSL", Fault.SASL_MECHANISM, {"sasl_mechanisms": ("PLAIN", "X")}, "PLAIN, X"),
    ],
)
def test_the_value_of_the_key(protocol: str, fault: Fault, fields: dict[str, Any], value: str) -> None:
    rows = listener(advertised(1, connections=(failed(fault, **fields),)), protocol=protocol)
    (finding,) = check_connections(rows)
    assert finding.value == value


def test_some_connections_of_one_ip_fail() -> None:
    rows = (connection(1), failed(Fault.CLOSED), connection(1))
    (finding,) = check_connections(listener(advertised(1, connections=rows, ips=("10.0.0.9",))))
    assert (finding.code, finding.text) == (
        "CONNECTION_CLOSED",
        "node 1 at broker1:9092 (1 of 3 connections): a reason",
    )


@pytest.mark.parametrize(
    ("dead", "fault", "code"),
    [
        ("::1", Fault.CONNECTION_REFUSED, "FAMILY_FAILS"),
        ("::1", Fault.NOT_KAFKA, "SOME_IPS_FAIL"),
        ("10.0.0.8", Fault.CONNECTION_REFUSED, "SOME_IPS_FAIL"),
    ],
)
def test_some_ips_of_a_name_fail(dead: str, fault: Fault, code: str) -> None:
    rows = (failed(fault, ip=dead), connection(1))
    found = check_connections(listener(advertised(1, connections=rows, ips=(dead, "10.0.0.9"))))
    assert codes_of(found) == [(code, 1)]


def test_a_name_of_the_family_that_has_no_route() -> None:
    dead = advertised(2, connections=(failed(Fault.NO_ROUTE, ip="2001:db8::1"),), ips=("2001:db8::1",))
    assert codes_of(check_connections(listener(seed(1), dead))) == [("WRONG_FAMILY", 2)]
    assert codes_of(check_connections(listener(dead))) == [("NO_ROUTE", 2)]


def test_a_wrong_name_in_the_certificate_is_left_to_the_check_of_certificates() -> None:
    rows = (failed(Fault.CERTIFICATE_NAME),)
    assert codes_of(check_connections(listener(advertised(1, connections=rows)))) == [("CERTIFICATE_NAME", 1)]
    certified = advertised(1, connections=rows, certificates={"10.0.0.9": Certificate()})
    assert codes_of(check_connections(listener(certified))) == []


def test_nothing_in_metadata_is_reachable() -> None:
    dead = advertised(1, connections=(failed(Fault.TIMEOUT),))
    (finding,) = check_reachable(listener(seed(1), dead))
    assert finding.code == "BROKERS_UNREACHABLE"
    assert codes_of(check_reachable(listener(seed(1), dead, advertised(2, 2)))) == []
    assert codes_of(check_reachable(listener(dead))) == []
