"""Builds every handler with its dependencies, for the route table. A dedicated controller has the handlers of the
controller's APIs (`broker/routes.CONTROLLER_ROUTES`), every other node has all."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

from signalbox.broker.api_request import Handler
from signalbox.broker.client_quotas import Throttling
from signalbox.broker.configs.broker_config_validator import BrokerConfigValidator
from signalbox.broker.configs.broker_loggers import BrokerLoggers
from signalbox.broker.configs.config_description import ConfigDescription
from signalbox.broker.epoch_checks import EpochChecks
from signalbox.broker.forwarding.filtering_forwarder import FilteringForwarder, ResourceAuthorizer, forwarding_filters
from signalbox.broker.handlers.api_versions import ApiVersionsHandler
from signalbox.broker.handlers.brokers.broker_to_controller import ControllerRequestHandler
from signalbox.broker.handlers.brokers.controller_to_broker import (
    ControlRequestHandler,
    ControlRequestQueue,
    NewTopicConfigs,
    applying_metadata,
)
from signalbox.broker.handlers.brokers.envelope import EnvelopeHandler
from signalbox.broker.handlers.configs.alter_client_quotas import AlterClientQuotasHandler
from signalbox.broker.handlers.configs.alter_configs import AlterConfigsHandler
from signalbox.broker.handlers.configs.describe_client_quotas import DescribeClientQuotasHandler
from signalbox.broker.handlers.configs.describe_configs import DescribeConfigsHandler
from signalbox.broker.handlers.configs.list_config_resources import ListConfigResourcesHandler
from signalbox.broker.handlers.configs.update_features import UpdateFeaturesHandler
from signalbox.broker.handlers.describe_cluster import DescribeClusterHandler
from signalbox.broker.handlers.groups.describe_groups import (
    DeleteGroupsHandler,
    DescribeGroupsHandler,
    ListGroupsHandler,
)
from signalbox.broker.handlers.groups.find_coordinator import FindCoordinatorHandler
from signalbox.broker.handlers.groups.group_membership import GroupMembershipHandler, ResponsePacer
from signalbox.broker.handlers.groups.offset_commit import OffsetCommitHandler, OffsetDeleteHandler
from signalbox.broker.handlers.groups.offset_fetch import OffsetFetchHandler
from signalbox.broker.handlers.groups.txn_offset_commit import TxnOffsetCommitHandler
from signalbox.broker.handlers.log_dirs.alter_replica_log_dirs import AlterReplicaLogDirsHandler
from signalbox.broker.handlers.log_dirs.describe_log_dirs import DescribeLogDirsHandler
from signalbox.broker.handlers.records.describe_producers import DescribeProducersHandler
from signalbox.broker.handlers.records.fetch import FetchHandler
from signalbox.broker.handlers.records.init_producer_id import InitProducerIdHandler
from signalbox.broker.handlers.records.partition_offsets import (
    DeleteRecordsHandler,
    ListOffsetsHandler,
    OffsetForLeaderEpochHandler,
)
from signalbox.broker.handlers.records.produce import ProduceHandler
from signalbox.broker.handlers.records.write_txn_markers import WriteTxnMarkersHandler
from signalbox.broker.handlers.security.acls import AlterAclsHandler, DescribeAclsHandler
from signalbox.broker.handlers.security.delegation_tokens import ChangeTokenHandler, DescribeDelegationTokenHandler
from signalbox.broker.handlers.security.user_scram_credentials import (
    AlterUserScramCredentialsHandler,
    DescribeUserScramCredentialsHandler,
)
from signalbox.broker.handlers.topics.create_partitions import CreatePartitionsHandler
from signalbox.broker.handlers.topics.create_topics import CreateTopicsHandler
from signalbox.broker.handlers.topics.delete_topics import DeleteTopicsHandler
from signalbox.broker.handlers.topics.describe_topic_partitions import DescribeTopicPartitionsHandler
from signalbox.broker.handlers.topics.elect_leaders import ElectLeadersHandler
from signalbox.broker.handlers.topics.metadata import MetadataHandler
from signalbox.broker.handlers.topics.partition_reassignments import PartitionReassignmentsHandler
from signalbox.broker.handlers.transactions.add_partitions_to_txn import (
    AddOffsetsToTxnHandler,
    AddPartitionsToTxnHandler,
)
from signalbox.broker.handlers.transactions.describe_transactions import (
    DescribeTransactionsHandler,
    ListTransactionsHandler,
)
from signalbox.broker.handlers.transactions.end_txn import EndTxnHandler
from signalbox.broker.ports import ActiveController
from signalbox.broker.router import Router
from signalbox.broker.routing.advertised_versions import AdvertisedVersions
from signalbox.broker.routing.exposed_nodes import AdvertisedController
from signalbox.broker.topics.topic_creation import TopicCreator
from signalbox.configuration.configuration import NODE_CONFIG
from signalbox.metadata.backup.stored_epochs import StoredEpochs
from signalbox.protocol.api_table import ApiKey
from signalbox.security.authorizer import Authorizer
from signalbox.wiring.node_context import NodeContext
from signalbox.wiring.replication_components import ReplicationComponents

_TOKEN_CHANGES = (
    ApiKey.CREATE_DELEGATION_TOKEN,
    ApiKey.RENEW_DELEGATION_TOKEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN,
)


@dataclass(slots=True, kw_only=True)
class ControllerHandlerDependencies:
    """Dependencies of the handlers of the controller's APIs. `changes` executes a change: the controller on this node,
    or the writer of direct metadata writes (`rolling_upgrade.py`)."""

    context: NodeContext
    router: Router
    controller: ActiveController
    changes: ActiveController
    authorizer: Authorizer
    advertised: AdvertisedVersions
    throttling: Throttling
    peer_listeners: Container[str] = ()
    broker_config_validator: BrokerConfigValidator | None = None


@dataclass(slots=True, kw_only=True)
class HandlerDependencies(ControllerHandlerDependencies):
    """Dependencies of the handlers of a broker."""

    exposed: AdvertisedController
    data: ReplicationComponents
    creation: TopicCreator
    forwarder: FilteringForwarder


def build_resource_authorizers(dependencies: ControllerHandlerDependencies) -> dict[ApiKey, ResourceAuthorizer]:
    """The handlers of changes that need more than a right on the cluster. They authorize resources also on the broker
    that receives the request (F6)."""
    context, authorizer, controller, throttling = (
        dependencies.context,
        dependencies.authorizer,
        dependencies.changes,
        dependencies.throttling,
    )
    alter, increment = (
        AlterConfigsHandler(
            key, controller, authorizer, dependencies.broker_config_validator, BrokerLoggers(context.config.node_id)
        )
        for key in (ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS)
    )
    return {
        ApiKey.CREATE_TOPICS: CreateTopicsHandler(controller, authorizer, throttling, context.config["num.partitions"]),
        ApiKey.DELETE_TOPICS: DeleteTopicsHandler(controller, authorizer, context.cache, throttling),
        ApiKey.CREATE_PARTITIONS: CreatePartitionsHandler(controller, authorizer, throttling, context.cache),
        ApiKey.ALTER_CONFIGS: alter,
        ApiKey.INCREMENTAL_ALTER_CONFIGS: increment,
        **{key: ChangeTokenHandler(key, controller, authorizer, context.token_secret) for key in _TOKEN_CHANGES},
    }


def build_controller_handlers(
    dependencies: ControllerHandlerDependencies, authorizers: Mapping[ApiKey, ResourceAuthorizer]
) -> dict[ApiKey, Handler]:
    """Returns one handler for each API in `broker/routes.CONTROLLER_ROUTES`."""
    context, authorizer, controller = dependencies.context, dependencies.authorizer, dependencies.changes
    telemetry, node_id = context.telemetry, context.config.node_id
    handlers: dict[ApiKey, Handler] = {
        **authorizers,
        ApiKey.API_VERSIONS: ApiVersionsHandler(
            dependencies.advertised,
            (context.cluster_id, node_id),
            telemetry.misroutes,
            context.cache,
            telemetry.software,
        ),
        ApiKey.UPDATE_FEATURES: UpdateFeaturesHandler(controller, authorizer),
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS: AlterUserScramCredentialsHandler(controller, authorizer),
        ApiKey.ALTER_CLIENT_QUOTAS: AlterClientQuotasHandler(controller, authorizer),
        ApiKey.ELECT_LEADERS: ElectLeadersHandler(controller, authorizer),
        ApiKey.ENVELOPE: EnvelopeHandler(
            dependencies.router,
            dependencies.controller,
            authorizer,
            context.security.principals.serde,
            telemetry.audit,
        ),
    }
    for key in (ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS):
        handlers[key] = AlterAclsHandler(key, controller, authorizer, keeps_acls=context.acls is not None)
    for key in (ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.LIST_PARTITION_REASSIGNMENTS):
        handlers[key] = PartitionReassignmentsHandler(key, controller, authorizer)
    for key in (ApiKey.CONTROLLED_SHUTDOWN, ApiKey.ALTER_PARTITION, ApiKey.ALLOCATE_PRODUCER_IDS):
        handlers[key] = ControllerRequestHandler(key, controller, authorizer, dependencies.peer_listeners)
    return handlers


def build_handlers(dependencies: HandlerDependencies) -> dict[ApiKey, Handler]:
    """Returns one handler for each API in `broker/routes.py`."""
    context, authorizer, cache = dependencies.context, dependencies.authorizer, dependencies.context.cache
    config, data = context.config, dependencies.data
    tokens = None if context.tokens is None else context.tokens.repository
    coordinator, replicas, stored = data.coordinator, data.replicas, context.repository
    creation = dependencies.creation if config["auto.create.topics.enable"] else None
    authorizers = build_resource_authorizers(dependencies)
    handlers = build_controller_handlers(dependencies, authorizers) | {
        ApiKey.PRODUCE: ProduceHandler(replicas, cache, authorizer, data.transactions.produce),
        ApiKey.FETCH: FetchHandler(
            replicas.fetches, cache, authorizer, dependencies.throttling, dependencies.peer_listeners
        ),
        ApiKey.LIST_OFFSETS: ListOffsetsHandler(replicas, authorizer),
        ApiKey.METADATA: MetadataHandler(
            cache, context.cluster_id, authorizer, dependencies.exposed, creation, data.recent_disconnects
        ),
        ApiKey.OFFSET_COMMIT: OffsetCommitHandler(coordinator, cache, authorizer),
        ApiKey.OFFSET_FETCH: OffsetFetchHandler(coordinator, cache, authorizer),
        ApiKey.FIND_COORDINATOR: FindCoordinatorHandler(cache, authorizer, dependencies.creation),
        ApiKey.DESCRIBE_GROUPS: DescribeGroupsHandler(coordinator, authorizer),
        ApiKey.LIST_GROUPS: ListGroupsHandler(coordinator, authorizer),
        ApiKey.DELETE_GROUPS: DeleteGroupsHandler(coordinator, authorizer),
        ApiKey.OFFSET_DELETE: OffsetDeleteHandler(coordinator, cache, authorizer),
        ApiKey.DELETE_RECORDS: DeleteRecordsHandler(replicas, authorizer),
        ApiKey.OFFSET_FOR_LEADER_EPOCH: OffsetForLeaderEpochHandler(replicas, authorizer, dependencies.peer_listeners),
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: DescribeUserScramCredentialsHandler(stored, authorizer),
        ApiKey.DESCRIBE_CLIENT_QUOTAS: DescribeClientQuotasHandler(stored, authorizer),
        ApiKey.DESCRIBE_ACLS: DescribeAclsHandler(context.acls, authorizer, context.scheduler),
        ApiKey.DESCRIBE_CONFIGS: DescribeConfigsHandler(
            ConfigDescription(config.node_id, NODE_CONFIG, config.originals, context.repository),
            cache,
            config.node_id,
            authorizer,
        ),
        ApiKey.ALTER_REPLICA_LOG_DIRS: AlterReplicaLogDirsHandler(replicas.logs, cache, authorizer),
        ApiKey.DESCRIBE_LOG_DIRS: DescribeLogDirsHandler(replicas.logs, authorizer),
        ApiKey.DESCRIBE_DELEGATION_TOKEN: DescribeDelegationTokenHandler(
            tokens, authorizer, context.token_secret, context.scheduler
        ),
        ApiKey.DESCRIBE_CLUSTER: DescribeClusterHandler(cache, context.cluster_id, authorizer, dependencies.exposed),
        ApiKey.LIST_CONFIG_RESOURCES: ListConfigResourcesHandler(stored, cache, authorizer),
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: DescribeTopicPartitionsHandler(
            cache, authorizer, config["max.request.partition.size.limit"]
        ),
    }
    dependencies.forwarder.install(forwarding_filters(authorizer, authorizers))
    pacer = ResponsePacer(context.scheduler)
    for key, call in (
        (ApiKey.JOIN_GROUP, coordinator.join_group),
        (ApiKey.HEARTBEAT, coordinator.heartbeat),
        (ApiKey.LEAVE_GROUP, coordinator.leave_group),
        (ApiKey.SYNC_GROUP, coordinator.sync_group),
    ):
        handlers[key] = GroupMembershipHandler(call, authorizer, pacer)
    return handlers | _transaction_handlers(dependencies) | _control_request_handlers(dependencies)


def _transaction_handlers(dependencies: HandlerDependencies) -> dict[ApiKey, Handler]:
    """The handlers of producers' transactions: their coordinator's, the group coordinator's and the leaders'."""
    data, authorizer, cache = dependencies.data, dependencies.authorizer, dependencies.context.cache
    transactions, groups, replicas = data.transactions.coordinator, data.coordinator, data.replicas
    peers, timeout_ms = dependencies.peer_listeners, dependencies.context.config["request.timeout.ms"]
    return {
        ApiKey.INIT_PRODUCER_ID: InitProducerIdHandler(data.producer_ids, transactions, authorizer),
        ApiKey.ADD_PARTITIONS_TO_TXN: AddPartitionsToTxnHandler(transactions, cache, authorizer, peers),
        ApiKey.ADD_OFFSETS_TO_TXN: AddOffsetsToTxnHandler(
            transactions, groups, cache, authorizer, dependencies.creation
        ),
        ApiKey.END_TXN: EndTxnHandler(transactions, authorizer),
        ApiKey.WRITE_TXN_MARKERS: WriteTxnMarkersHandler(replicas, authorizer, timeout_ms, peers, groups),
        ApiKey.TXN_OFFSET_COMMIT: TxnOffsetCommitHandler(
            groups, cache, authorizer, data.transactions.verifier, data.transactions.produce.settings
        ),
        ApiKey.DESCRIBE_PRODUCERS: DescribeProducersHandler(replicas, cache, authorizer),
        ApiKey.DESCRIBE_TRANSACTIONS: DescribeTransactionsHandler(transactions, authorizer),
        ApiKey.LIST_TRANSACTIONS: ListTransactionsHandler(transactions, authorizer),
    }


def _control_request_handlers(dependencies: HandlerDependencies) -> dict[ApiKey, Handler]:
    """The handlers of the requests of the controller to this broker; they share one queue."""
    context, replicas = dependencies.context, dependencies.data.replicas
    epoch_checks = EpochChecks(context.epochs, StoredEpochs(context.store), replicas.leader_epoch, context.clock)
    new_topic_configs = NewTopicConfigs(context.repository.load)
    control_queue = ControlRequestQueue(context.scheduler)
    return {
        key: ControlRequestHandler(
            dependencies.authorizer,
            context.epochs,
            epoch_checks,
            new_topic_configs,
            control_queue,
            apply,
            dependencies.peer_listeners,
        )
        for key, apply in (
            (ApiKey.LEADER_AND_ISR, replicas.become_leader_or_follower),
            (ApiKey.STOP_REPLICA, replicas.stop_replica),
            (ApiKey.UPDATE_METADATA, applying_metadata(context.cache)),
        )
    }
