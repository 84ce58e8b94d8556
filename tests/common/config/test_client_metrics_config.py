"""Validation of client metrics subscriptions."""

from __future__ import annotations

import pytest

from signalbox.common.config.client_metrics_config import CLIENT_METRICS_CONFIG, interval_problem, match_problem


def test_kafkas_keys_and_defaults() -> None:
    defaults = {row.name: row.default for row in CLIENT_METRICS_CONFIG}
    assert defaults == {"metrics": [], "interval.ms": 300_000, "match": []}


@pytest.mark.parametrize(("text", "fine"), [("99", False), ("100", True), ("3600000", True), ("3600001", False)])
def test_the_interval(text: str, fine: bool) -> None:
    assert (interval_problem({"interval.ms": text}) is None) == fine
    assert interval_problem({}) is None


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", None),
        ("client_id=.*", None),
        ("client_software_name=apache-kafka-java, client_software_version=3\\..*", None),
        ("client_instance_id=a,client_source_address=10.0.*", None),
        ("client_id", "client_id"),
        ("client_id=", "client_id="),
        ("client_id=a=b", "client_id=a=b"),
        ("client_id=a,unknown=b", "unknown=b"),
        ("client_id=(", "client_id=("),
    ],
)
def test_the_patterns(text: str, wrong: str | None) -> None:
    problem = None if wrong is None else f"Illegal client matching pattern: {wrong}"
    assert match_problem({"match": text}) == problem
