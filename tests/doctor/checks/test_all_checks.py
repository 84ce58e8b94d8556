from __future__ import annotations

import inspect

import pytest

from signalbox.common.ids import Grade
from signalbox.doctor.checks import address_lint, certificates, client_options, clusters, connections, responses, routes
from signalbox.doctor.checks.all_checks import EXAMINATION_CHECKS, LISTENER_CHECKS, find
from signalbox.doctor.observations import Fault
from tests.doctor.samples import advertised, connection, examination, failed, listener, seed

pytestmark = pytest.mark.spec("R8")


def test_every_check_is_in_the_table() -> None:
    modules = (address_lint, certificates, client_options, clusters, connections, responses, routes)
    written: set[object] = {
        function
        for module in modules
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if name.startswith("check_") and function.__module__ == module.__name__
    }
    assert written == {*EXAMINATION_CHECKS, *LISTENER_CHECKS}


def test_errors_come_first_and_each_finding_once() -> None:
    rows = (
        advertised(1, connections=(connection(grade=Grade.CLUSTER_ONLY, api_versions_max=3),)),
        advertised(2, connections=(failed(Fault.CONNECTION_REFUSED), failed(Fault.CONNECTION_REFUSED))),
    )
    found = find(examination(listener(seed(1, 2, ip="10.0.0.5"), *rows)))
    assert [finding.code for finding in found] == [
        "CONNECTION_REFUSED", "UNVERIFIED", "LOAD_BALANCER", "VERSIONS_CAPPED"
    ]  # fmt: skip
