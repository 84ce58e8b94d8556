"""Which decision handles which API, and the decision of the periodic housekeeping. A new admin API of the controller is
one row here and one in `error_responses.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from signalbox.controller.brokers.controlled_shutdown import controlled_shutdown
from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision, Inputs
from signalbox.controller.entities.acl_control import create_acls, delete_acls
from signalbox.controller.entities.config_control import alter_configs, incremental_alter_configs
from signalbox.controller.entities.feature_control import update_features
from signalbox.controller.entities.producer_ids import allocate_producer_ids
from signalbox.controller.entities.quota_control import alter_client_quotas
from signalbox.controller.entities.scram_control import alter_user_scram_credentials
from signalbox.controller.entities.token_control import (
    create_delegation_token,
    expire_delegation_token,
    renew_delegation_token,
)
from signalbox.controller.partitions.alter_partition import alter_partition
from signalbox.controller.partitions.election_control import elect_leaders
from signalbox.controller.partitions.preferred_leaders import rebalance_leaders
from signalbox.controller.partitions.reassignment import finish_moves
from signalbox.controller.partitions.reassignment_control import (
    alter_partition_reassignments,
    list_partition_reassignments,
)
from signalbox.controller.partitions.removed_replicas import delete_removed_replicas
from signalbox.controller.topics.partition_creation import create_partitions
from signalbox.controller.topics.topic_control import create_topics
from signalbox.controller.topics.topic_deletion import delete_topics, retry_replica_deletions
from signalbox.protocol.api_table import ApiKey

Decide = Callable[[ControllerContext, Inputs, Any], Decision]

DECISIONS: dict[ApiKey, Decide] = {
    ApiKey.CREATE_TOPICS: create_topics,
    ApiKey.DELETE_TOPICS: delete_topics,
    ApiKey.CREATE_PARTITIONS: create_partitions,
    ApiKey.ALTER_CONFIGS: alter_configs,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: incremental_alter_configs,
    ApiKey.CREATE_ACLS: create_acls,
    ApiKey.DELETE_ACLS: delete_acls,
    ApiKey.ELECT_LEADERS: elect_leaders,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: alter_partition_reassignments,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: list_partition_reassignments,
    ApiKey.ALTER_CLIENT_QUOTAS: alter_client_quotas,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: alter_user_scram_credentials,
    ApiKey.UPDATE_FEATURES: update_features,
    ApiKey.CREATE_DELEGATION_TOKEN: create_delegation_token,
    ApiKey.RENEW_DELEGATION_TOKEN: renew_delegation_token,
    ApiKey.EXPIRE_DELEGATION_TOKEN: expire_delegation_token,
    ApiKey.CONTROLLED_SHUTDOWN: controlled_shutdown,
    ApiKey.ALTER_PARTITION: alter_partition,
    ApiKey.ALLOCATE_PRODUCER_IDS: allocate_producer_ids,
}


def housekeeping(context: ControllerContext, inputs: Inputs) -> Decision:
    """Move leadership back to preferred replicas, if enabled; complete reassignments that can be completed; repeat the
    requests of deletions that are not complete. Yields."""
    balance = rebalance_leaders(context, inputs) if inputs.settings.auto_leader_rebalance_enable else Decision()
    moved = finish_moves(context, balance.records)
    again = (
        *retry_replica_deletions(context, list(context.brokers)),
        *delete_removed_replicas(context, context.brokers),
    )
    return Decision(records=(*balance.records, *moved.records), effects=(*balance.effects, *moved.effects, *again))
