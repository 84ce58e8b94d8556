"""What the test kit costs those who wait for it, and those who do not use it: one round, without its bounds."""

from __future__ import annotations

import pytest
from bench.misroute.first_tests import kit_rows

pytestmark = pytest.mark.spec("R7")


def test_a_warm_cluster_and_the_plugin_alone_are_measured_and_bounded() -> None:
    ready, plugin = kit_rows(1)
    assert (ready.bound, plugin.bound) == (100.0, 5.0)
    assert 0 < plugin.ours < ready.ours
    assert None not in (ready.holds, plugin.holds)
