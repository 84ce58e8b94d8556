"""Every rule finds what it is for, and nothing in a reported without anomalies."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.pipeline.report.anomalies import RULES, Severity, anomalies
from tests.pipeline.report.sample import decided, figures, forward, misroute, rejection

pytestmark = pytest.mark.spec("P2")


def incomplete() -> dict[str, Any]:
    completeness = {**figures()["completeness"], "complete": False, "findings": ["broker 1 epoch 7 begins at seq 50"]}
    return figures(completeness=completeness)


def posing() -> dict[str, Any]:
    requests = figures()["requests"]
    return figures(decided=[decided("User:broker")], requests=[*requests, {**requests[1], "listener": "CLIENT"}])


def slow() -> dict[str, Any]:
    return figures(requests=[{**figures()["requests"][0], "max_us": 1_500_000}])


CASES = [
    (incomplete(), "incomplete audit trail", Severity.ERROR, "broker 1 epoch 7 begins at seq 50"),
    (posing(), "broker principal on a public listener", Severity.ERROR, "User:broker, with which brokers log in, sent"),
    (figures(misrouted=[misroute(5)]), "misrouted requests", Severity.WARNING, "5 requests of 3 clients meant c1/1"),
    (figures(misrouted=[misroute(100)]), "misrouted requests", Severity.ERROR, "a storm of misroutes"),
    (figures(rejected=[rejection("control")]), "rejected requests", Severity.ERROR, "12 PRODUCE of User:mallory"),
    (figures(rejected=[rejection("data")]), "rejected requests", Severity.WARNING, "not served here"),
    (figures(forwarded=[forward(3)]), "failed forwarded requests", Severity.WARNING, "3 of 20 CREATE_TOPICS"),
    (figures(forwarded=[forward(p99_us=900_000)]), "slow requests", Severity.WARNING, "takes 900 ms (p99)"),
    (slow(), "slow requests", Severity.WARNING, "took up to 1,500 ms"),
    (
        figures(kinds=[{"kind": "advertised_address", "events": 2, "requests": 2}]),
        "advertised addresses",
        Severity.WARNING,
        "2 checks of advertised addresses",
    ),
]


@pytest.mark.parametrize(("reported", "rule", "severity", "text"), CASES)
def test_a_rule_finds_what_it_is_for(reported: dict[str, Any], rule: str, severity: Severity, text: str) -> None:
    (anomaly,) = anomalies(reported)
    assert (anomaly.rule, anomaly.severity) == (rule, severity)
    assert text in anomaly.text


def test_every_rule_has_a_case() -> None:
    assert {rule for _, rule, _, _ in CASES} == set(RULES)


def test_an_audit_trail_without_anomalies() -> None:
    waiting = {**figures()["requests"][1], "max_us": 9_000_000}
    assert anomalies(figures(forwarded=[forward(p99_us=None)], requests=[waiting])) == []


def test_brokers_that_do_not_log_in_are_not_distinguished_from_clients() -> None:
    reported = posing()
    reported["decided"] = [decided("User:ANONYMOUS")]
    assert anomalies(reported) == []


def test_errors_come_first() -> None:
    found = anomalies(figures(misrouted=[misroute(5)], rejected=[rejection("control")]))
    assert [anomaly.severity for anomaly in found] == [Severity.ERROR, Severity.WARNING]
    assert found[0].as_json()["severity"] == "error"
