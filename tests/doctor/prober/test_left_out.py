from __future__ import annotations

import pytest

from signalbox.doctor.observations import ClusterView
from signalbox.doctor.prober.left_out import LeftOut, with_left_out

pytestmark = pytest.mark.spec("R8")


def test_each_reason_once_and_those_that_leave_a_doubt() -> None:
    view = ClusterView(skipped=("a",), unknown=())
    found = with_left_out(view, [LeftOut("a", unknown=False), LeftOut("b"), LeftOut("b"), LeftOut("c", unknown=False)])
    assert (found.skipped, found.unknown) == (("a", "b", "c"), ("b",))
