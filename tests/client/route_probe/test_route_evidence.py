from __future__ import annotations

from signalbox.client.connection.node import Address
from signalbox.client.route_probe.route_evidence import Grade, RouteEvidence, RouteStatus
from signalbox.doctor.observations import Grade as DoctorGrade


def test_statuses_are_stable_codes_and_only_one_is_good() -> None:
    assert [status.value for status in RouteStatus] == [status.name for status in RouteStatus]
    assert {status for status in RouteStatus if status == "ROUTE_OK"} == {RouteStatus.ROUTE_OK}


def test_the_doctor_has_the_same_grades() -> None:
    assert {grade.name: grade.value for grade in Grade} == {grade.name: grade.value for grade in DoctorGrade}


def test_evidence_contains_only_verified_facts() -> None:
    found = RouteEvidence(address=Address("h", 1), ip="", expected=None, status=RouteStatus.UNRESOLVED)
    assert (found.grade, found.answering_cluster, found.answering_node, found.api_versions_max) == (
        Grade.NONE,
        None,
        None,
        None,
    )
