from __future__ import annotations

from xml.etree import ElementTree

import pytest

from signalbox.common.ids import Grade
from signalbox.doctor.checks.all_checks import find
from signalbox.doctor.observations import ClusterView
from signalbox.doctor.report.junit_report import junit_report
from tests.doctor.samples import CLUSTER, advertised, connection, examination, listener, seed

pytestmark = pytest.mark.spec("R8")


def test_a_suite_per_entry_and_a_case_per_address() -> None:
    unknown = advertised(3, connections=(connection(grade=Grade.CLUSTER_ONLY, api_versions_max=3),))
    other = seed(host="other<&>", connections=(connection(1, cluster_id="cluster-B"),))
    run = examination(listener(seed(1, 2), advertised(1, 2), unknown), listener(other, bootstrap="other:1"))
    root = ElementTree.fromstring(junit_report(run, find(run)))
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == ["kafka:9092", "other:1", "all listeners"]
    kafka = suites["kafka:9092"]
    assert (kafka.get("tests"), kafka.get("failures"), kafka.get("errors")) == ("4", "1", "1")
    results = {case.get("name"): [(child.tag, child.get("type")) for child in case] for case in kafka}
    assert results == {
        "kafka:9092 bootstrap": [("system-out", None)],
        "broker1:9092 node 1": [("failure", "WRONG_NODE")],
        "broker3:9092 node 3": [("error", "UNVERIFIED"), ("system-out", None)],
        "the listener as a whole": [],
    }
    assert suites["all listeners"].find("testcase/failure").get("type") == "SEVERAL_CLUSTERS"  # type: ignore[union-attr]


def test_a_check_that_could_not_be_made_is_a_skipped_case() -> None:
    view = ClusterView(cluster_id=CLUSTER, brokers={"1": "broker1:9092"}, skipped=("a<b", "c"), unknown=("c",))
    run = examination(listener(advertised(1, 1), view=view))
    suite = ElementTree.fromstring(junit_report(run, find(run)))[0]
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "4", "failures": "0", "errors": "1", "skipped": "2"}
    cases = {case.get("name"): [(child.tag, child.get("message")) for child in case] for case in suite}
    assert cases["not checked: a<b"] == [("skipped", "a<b")]
    assert cases["not checked: c"] == [("skipped", "c")]
    assert cases["the listener as a whole"] == [("error", "not checked: c")]
