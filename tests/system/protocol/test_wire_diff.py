"""Signalbox and Apache Kafka 4.4.0 return equal responses, or a row of the conformance table gives the reason."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from signalbox.broker.conformance import AnswerRow, read_conformance
from signalbox.protocol.api_table import API_TABLE
from tests.system.provision import command, jars
from tests.system.wire_diff.__main__ import CONFORMANCE, unused
from tests.system.wire_diff.comparison import compare, summary
from tests.system.wire_diff.questions import QUESTIONS
from tests.system.wire_diff.run import ask_all, shared_versions
from tests.system.wire_diff.sides import both_sides

NEEDS = (partial(command, "java"), partial(jars, "kafka44"))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.spec("D1", "D16")
def test_every_difference_has_a_row_and_every_row_a_difference(tmp_path: Path) -> None:
    rows = list(read_conformance(CONFORMANCE).answers)
    with both_sides(tmp_path) as (ours, kafka):
        comparisons = list(ask_all(ours, kafka, QUESTIONS, rows))
        served = {
            f"{API_TABLE[api].name} v{version}"
            for api in ours.versions.keys() & kafka.versions.keys()
            for version in shared_versions(api, ours, kafka)
        }
    print(summary(comparisons))
    unexplained = [(each.label, each.differences) for each in comparisons if not each.explained]
    assert unexplained == []
    assert unused(rows, comparisons) == []
    assert len(comparisons) >= 200
    asked = {comparison.label.split(":")[0] for comparison in comparisons}
    assert served - asked == set(), "not asked at the lowest or the highest version that both serve"


def test_a_difference_without_a_row_is_seen() -> None:
    row = AnswerRow("Fetch", ("topics[*].x",), "on purpose", "*the end")
    ours, kafka = {"topics[t].x": 1, "error_code": 0}, {"topics[t].x": 2, "error_code": 0}
    assert compare("Fetch v4: from the end", ours, ours, [row]).equal
    assert compare("Fetch v4: from the end", ours, kafka, [row]).explained
    for label in ("Fetch v4: from the start", "Produce v4: from the end"):
        comparison = compare(label, ours, kafka, [row])
        assert (comparison.equal, comparison.explained) == (False, False)
    assert summary([comparison]) == "0 equal, 1 differ (0 with a row)"


def test_what_one_side_lacks_is_one_difference() -> None:
    kafka = {"a[x].b": 1, "a[x].c[y].d": 2, "a.count": 1}
    differences = compare("Fetch v4: a", {"a.count": 0}, kafka, []).differences
    assert [(each.path, each.ours, each.kafka) for each in differences] == [
        ("a.count", 0, 1),
        ("a[x]", "(absent)", "(there)"),
    ]
