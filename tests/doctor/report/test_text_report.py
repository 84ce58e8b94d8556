from __future__ import annotations

import pytest

from signalbox.doctor.checks.all_checks import find
from signalbox.doctor.observations import Certificate
from signalbox.doctor.report.text_report import text_report
from tests.doctor.samples import advertised, examination, listener, seed

pytestmark = pytest.mark.spec("R8")


def test_the_report_of_a_healthy_listener() -> None:
    run = examination(listener(advertised(1, 1), protocol="SASL_SSL", mechanism="PLAIN"))
    assert text_report(run, []) == [
        "kafka:9092 (SASL_SSL PLAIN): cluster cluster-A, 1 nodes",
        "  ok  broker1:9092  node 1 -> 10.0.0.1 -> node 1  proof A, 1 of 1 connections, 1.0 ms",
        "",
        "1 address in 0.0 s: all right",
    ]


def test_findings_name_key_value_and_page() -> None:
    run = examination(listener(seed(1, 2), advertised(1, 2), advertised(2, 1)))
    lines = text_report(run, find(run))
    start = lines.index("error: CROSSED: node 2 responds for node 1: nodes 1, 2 are exchanged")
    assert lines[start + 1] == "    change advertised.listeners to broker2:9092"
    assert lines[start + 2].endswith("(docs/doctor/CROSSED.md)")
    assert lines[-1] == "3 addresses in 0.0 s: 2 wrong, 0 unknown, 1 to know"


def test_certificates_and_notices() -> None:
    full = Certificate(subject="CN=a", names=("a", "b"), not_after="2030", sha256="0" * 64)
    row = advertised(1, 1, certificates={"10.0.0.1": full, "10.0.0.2": Certificate(sha256="ab")})
    lines = text_report(examination(listener(row)), [])
    assert "  certificate of broker1:9092 (10.0.0.1): CN=a; a, b; until 2030; SHA-256 0000000000000000" in lines
    assert "  certificate of broker1:9092 (10.0.0.2): SHA-256 ab" in lines
    notices = examination(listener(seed(1, 2), advertised(1, 1), advertised(2, 2)))
    assert text_report(notices, find(notices))[-1] == "3 addresses in 0.0 s: all right, 1 to know"
