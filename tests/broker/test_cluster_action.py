"""CLUSTER_ACTION: who has it may speak as a broker."""

from __future__ import annotations

import pytest

from signalbox.broker.cluster_action import may_act_on_cluster, require_cluster_action
from signalbox.protocol.error_table import Error, KafkaError
from tests.broker.asking import ALLOW_ALL, acl, context


def test_only_with_the_right() -> None:
    authorizer = acl(("broker", "CLUSTER_ACTION", "cluster"), ("alice", "ALTER", "cluster"))
    require_cluster_action(authorizer, context("broker", "REPLICATION", inter_broker=True))
    assert not may_act_on_cluster(authorizer, context("alice"))
    with pytest.raises(KafkaError, match="User:alice has no CLUSTER_ACTION") as refused:
        require_cluster_action(authorizer, context("alice", "REPLICATION", inter_broker=True))
    assert refused.value.error is Error.CLUSTER_AUTHORIZATION_FAILED


@pytest.mark.parametrize("door", ["inter_broker", "control_plane", "privileged"])
def test_only_by_the_doors_of_brokers(door: str) -> None:
    require_cluster_action(ALLOW_ALL, context("broker", "INTERNAL", **{door: True}))
    with pytest.raises(KafkaError, match="do not speak on listener CLIENT") as refused:
        require_cluster_action(ALLOW_ALL, context("broker", "CLIENT"))
    assert refused.value.error is Error.CLUSTER_AUTHORIZATION_FAILED
