"""The controller has a decision for every API that a broker forwards, and for the brokers' own requests.
Housekeeping: leader balance, and retries of unfinished deletions."""

from __future__ import annotations

from signalbox.controller.context import ReplicaOfTopic
from signalbox.controller.decision import LeadersAnnounced, ReplicasStopped
from signalbox.controller.dispatch import DECISIONS, housekeeping
from signalbox.protocol.api_table import API_TABLE, ApiKey
from tests.controller.cluster import inputs
from tests.controller.contexts import make_context, states, tp


def test_the_rows() -> None:
    forwarded = {
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
        ApiKey.ELECT_LEADERS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.ALTER_CLIENT_QUOTAS,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.UPDATE_FEATURES,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
    }
    from_brokers = {ApiKey.CONTROLLED_SHUTDOWN, ApiKey.ALTER_PARTITION, ApiKey.ALLOCATE_PRODUCER_IDS}
    assert set(DECISIONS) == forwarded | from_brokers
    assert all(API_TABLE[key].forwardable for key in forwarded)
    assert all(API_TABLE[key].cluster_action for key in from_brokers)


CONTEXT = make_context(
    1, 2, topics={"t": {0: "1 2*"}, "going": {0: "1* 3"}},
    deleting={"going": frozenset({ReplicaOfTopic(0, 1), ReplicaOfTopic(0, 3)})},
)  # fmt: skip


def test_balance_and_deletions() -> None:
    decision = housekeeping(CONTEXT, inputs(auto_leader_rebalance_enable=True))
    assert states(decision) == {"t-0": "1/8/4 isr 1 2"}
    assert decision.effects == (LeadersAnnounced((tp(0),)), ReplicasStopped(1, (tp(0, "going"),), delete=True))


def test_balance_can_be_switched_off() -> None:
    assert states(housekeeping(CONTEXT, inputs(auto_leader_rebalance_enable=False))) == {}
