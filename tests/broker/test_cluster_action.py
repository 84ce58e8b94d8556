"""CLUSTER_ACTION: who has it may speak as a broker."""

from __future__ import annotations

import pytest

from signalbox.broker.cluster_action import may_act_on_cluster, require_cluster_action
from signalbox.protocol.error_table import Error, KafkaError
from tests.broker.asking import acl, context


def test_only_with_the_right() -> None:
    authorizer = acl(("broker", "CLUSTER_ACTION", "cluster"), ("alice", "ALTER", "cluster"))
    require_cluster_action(authorizer, context("broker"))
    assert not may_act_on_cluster(authorizer, context("alice"))
    with pytest.raises(KafkaError, match="User:alice has no CLUSTER_ACTION") as refused:
        require_cluster_action(authorizer, context("alice"))
    assert refused.value.error is Error.CLUSTER_AUTHORIZATION_FAILED
