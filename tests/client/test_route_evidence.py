from __future__ import annotations

from signalbox.client.node import Address
from signalbox.client.route_evidence import Grade, RouteEvidence, Verdict


def test_verdicts_are_stable_codes_and_only_one_is_good() -> None:
    assert [verdict.value for verdict in Verdict] == [verdict.name for verdict in Verdict]
    assert {verdict for verdict in Verdict if verdict == "ROUTE_OK"} == {Verdict.ROUTE_OK}


def test_evidence_contains_only_verified_facts() -> None:
    found = RouteEvidence(address=Address("h", 1), ip="", expected=None, verdict=Verdict.UNRESOLVED)
    assert (found.grade, found.answering_cluster, found.answering_node, found.api_versions_max) == (
        Grade.NONE,
        None,
        None,
        None,
    )
