"""The controller has a decision for every API that a broker forwards, and for the brokers' own requests."""

from __future__ import annotations

from signalbox.controller.dispatch import DECISIONS
from signalbox.protocol.api_table import API_TABLE, ApiKey


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
