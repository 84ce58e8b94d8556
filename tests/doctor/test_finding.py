from __future__ import annotations

import re

import pytest

from signalbox.doctor.checks.connections import CODES
from signalbox.doctor.finding import Finding, Severity, codes, exit_status
from signalbox.doctor.observations import Fault

pytestmark = pytest.mark.spec("R8")


def finding(code: str) -> Finding:
    return Finding(code=code, text="")


def test_each_code_has_every_text_and_a_page() -> None:
    for code, row in codes().items():
        assert re.fullmatch(r"[A-Z][A-Z_]+", code)
        assert all((row.title, row.means, row.causes, row.remedy))
        assert row.page == f"docs/doctor/{code}.md"
        assert not row.title.endswith(".")


def test_each_fault_has_a_code() -> None:
    assert set(CODES) == set(Fault) - {Fault.NONE}
    assert set(CODES.values()) <= set(codes())


def test_the_exit_status_is_the_worst_finding() -> None:
    assert exit_status([]) == exit_status([finding("LOAD_BALANCER")]) == 0
    assert exit_status([finding("LOAD_BALANCER"), finding("UNVERIFIED")]) == 2
    assert exit_status([finding("UNVERIFIED"), finding("CROSSED")]) == 1
    assert finding("UNVERIFIED").severity == Severity.UNKNOWN
