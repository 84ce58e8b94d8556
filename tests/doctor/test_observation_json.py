from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from signalbox.doctor.finding import Finding
from signalbox.doctor.observation_json import read_report, report_as_json
from signalbox.doctor.observations import (
    AddressObservation,
    Certificate,
    ClusterView,
    ConnectionObservation,
    EndpointObservation,
    Examination,
    Fault,
    ListenerObservation,
)
from tests.doctor.samples import advertised, examination, failed, listener, seed

pytestmark = pytest.mark.spec("R8")


def sample() -> str:
    endpoint = EndpointObservation(source="Fetch", asked=1, node_id=2, address="x:1")
    certificate = Certificate(subject="CN=x", names=("a", "b"), not_after="2026-01-01T00:00:00+00:00")
    view = ClusterView(cluster_id="c", brokers={"1": "a:1"}, endpoints=(endpoint,), replica_nodes=(1, 2))
    rows = (advertised(1, 1, certificates={"10.0.0.1": certificate}), seed(connections=(failed(Fault.TIMEOUT),)))
    return report_as_json(
        examination(listener(*rows, view=view)), [Finding(code="CROSSED", text="t", key="k", value="v")]
    )


def test_a_report_is_read_back_as_it_was() -> None:
    text = sample()
    report = json.loads(text)
    assert (report["format"], report["status"], report["findings"][0]["severity"]) == (1, 1, "error")
    assert report["examination"]["listeners"][0]["addresses"][1]["connections"][0]["fault"] == "timeout"
    examined = read_report(text)
    assert report_as_json(examined, [Finding(code="CROSSED", text="t", key="k", value="v")]) == text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[]", "it is no report"),
        ("{}", "it is no report"),
        ('{"format": 2}', "of format 1"),
        ('{"format": 1}', "examination is not an object"),
        ('{"format": 1, "examination": {}}', "started"),
        ('{"format": 1, "examination": {"started": 5}}', "examination.started is not a text"),
        ('{"format": 1, "examination": {"started": "", "listeners": {}}}', "listeners is not a list"),
        ('{"format": 1, "examination": {"started": "", "duration_ms": true}}', "duration_ms is not a number"),
        ("[" * 100_000, "nested too deeply"),
        ("not json", "Expecting value"),
    ],
)
def test_what_is_no_report_is_rejected_by_name(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_report(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"fault": "timeout"', '"fault": "unheard-of"'),
        ('"port": 9092', '"port": "9092"'),
        ('"bootstrap": true', '"bootstrap": 1'),
        ('"brokers": {', '"brokers": 5, "b": {'),
        ('"1": "a:1"', '"one": "a:1"'),
        ('"1": "a:1"', '"1\\u001b": "a:1"'),
        ('"connect_ms": 1.0', f'"connect_ms": 1{"0" * 400}'),
    ],
)
def test_a_field_of_another_type_is_named(old: str, new: str) -> None:
    text = sample()
    assert old in text
    with pytest.raises(ValueError, match=r"examination\.listeners\[0\]"):
        read_report(text.replace(old, new))


def test_texts_of_a_file_are_safe_to_print() -> None:
    text = sample().replace('"cluster_id": "c"', r'"cluster_id": "c\u001b]0;title\u0007\ufffe"')
    assert read_report(text).listeners[0].view.cluster_id == "c?]0;title??"
    with pytest.raises(ValueError, match=r"brokers\.\?one"):
        read_report(sample().replace('"1": "a:1"', r'"\u001bone": "a:1"'))


_PAGE = Path(__file__).parents[2] / "docs/doctor/json.md"


@pytest.mark.parametrize(
    "record",
    [
        Examination,
        ListenerObservation,
        ClusterView,
        EndpointObservation,
        AddressObservation,
        ConnectionObservation,
        Certificate,
        Finding,
    ],
)
def test_each_field_is_documented(record: Any) -> None:
    _, found, section = _PAGE.read_text().partition(f"\n## {record.__name__}\n")
    assert found
    documented = re.findall(r"^\| `(\w+)` \|", section.partition("\n## ")[0], re.MULTILINE)
    assert documented == [*(("severity",) if record is Finding else ()), *(field.name for field in fields(record))]
