from __future__ import annotations

import pytest

from signalbox.client.cluster.cluster_id_policy import ClusterIdPolicy

pytestmark = pytest.mark.spec("R6")


def test_follow_takes_every_cluster() -> None:
    policy = ClusterIdPolicy("follow")
    policy.adopted("a")
    assert policy.accepts("b")
    assert policy.accepts(None)


def test_a_pin_takes_one() -> None:
    policy = ClusterIdPolicy("pin:a")
    assert [policy.accepts(cluster_id) for cluster_id in ("a", "b", None)] == [True, False, False]


def test_pin_first_keeps_the_first_one_it_meets() -> None:
    policy = ClusterIdPolicy("pin-first")
    assert policy.accepts("a")
    policy.adopted("a")
    policy.adopted("b")
    assert [policy.accepts(cluster_id) for cluster_id in ("a", "b", None)] == [True, False, False]


@pytest.mark.parametrize("text", ["", "pin:", "pin", "first", "Follow"])
def test_anything_else_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="none of follow, pin-first, pin:"):
        ClusterIdPolicy(text)
