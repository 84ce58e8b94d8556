"""Builds every handler with its dependencies, for the route table. A dedicated controller has the handlers of the
controller's APIs (`broker/routes.CONTROLLER_ROUTES`), every other node has all."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from functools import partial

from signalbox.broker.api_request import Handler
from signalbox.broker.configs.broker_config_validator import BrokerConfigValidator
from signalbox.broker.configs.broker_loggers import BrokerLoggers
from signalbox.broker.configs.config_description import ConfigDescription
from signalbox.broker.configs.new_topic_configs import NewTopicConfigs
from signalbox.broker.epoch_checks import EpochChecks
from signalbox.broker.forwarding.filtering_forwarder import FilteringForwarder, ResourceAuthorizer, forwarding_filters
from signalbox.broker.handlers.api_versions import ApiVersionsHandler
from signalbox.broker.handlers.brokers.broker_to_controller import ControllerRequestHandler
from signalbox.broker.handlers.brokers.controller_to_broker import ControlRequestHandler, ControlRequestQueue
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
from signalbox.broker.handlers.log_dirs.alter_replica_log_dirs import AlterReplicaLogDirsHandler
from signalbox.broker.handlers.log_dirs.describe_log_dirs import DescribeLogDirsHandler
from signalbox.broker.handlers.records.fetch import FetchHandler
from signalbox.broker.handlers.records.init_producer_id import InitProducerIdHandler
from signalbox.broker.handlers.records.partition_offsets import (
    DeleteRecordsHandler,
    ListOffsetsHandler,
    OffsetForLeaderEpochHandler,
)
from signalbox.broker.handlers.records.produce import ProduceHandler
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
from signalbox.broker.metrics.client_software import ClientSoftware
from signalbox.broker.ports import AclReading, ActiveController, StoredConfigs, TopicCreation
from signalbox.broker.producer_ids import ProducerIdBlocks
from signalbox.broker.quotas.throttling import Throttling
from signalbox.broker.router import Router
from signalbox.broker.routing.advertised_versions import AdvertisedVersions
from signalbox.broker.routing.exposed_controller import AdvertisedController
from signalbox.broker.routing.misroutes import MisrouteLog
from signalbox.broker.routing.recent_disconnects import RecentDisconnects
from signalbox.common.audit_event import AuditSink
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.configuration.delegation_tokens import DelegationTokens
from signalbox.coordinator.group_coordinator import GroupCoordinator
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.security.authorizer import Authorizer
from signalbox.security.delegation_token import TokenSecret
from signalbox.security.principal import PrincipalSerde
from signalbox.server.local_epochs import LocalEpochs

_TOKEN_CHANGES = (
    ApiKey.CREATE_DELEGATION_TOKEN,
    ApiKey.RENEW_DELEGATION_TOKEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN,
)


@dataclass(slots=True, kw_only=True)
class ControllerHandlerDependencies:
    """Dependencies of the handlers of the controller's APIs. `changes` executes a change: the controller on this node,
    or the writer of direct metadata writes (`rolling_upgrade.py`)."""

    cluster_id: str
    epochs: LocalEpochs
    router: Router
    cache: MetadataCache
    controller: ActiveController
    changes: ActiveController
    software: ClientSoftware
    authorizer: Authorizer
    serde: PrincipalSerde
    audit: AuditSink
    advertised: AdvertisedVersions
    misroutes: MisrouteLog
    acls: AclReading | None
    throttling: Throttling
    default_partitions: int
    token_secret: TokenSecret | None
    peer_listeners: Container[str] = ()
    broker_config_validator: BrokerConfigValidator | None = None


@dataclass(slots=True, kw_only=True)
class HandlerDependencies(ControllerHandlerDependencies):
    """Dependencies of the handlers of a broker."""

    exposed: AdvertisedController
    replicas: ReplicaManager
    recent_disconnects: RecentDisconnects
    coordinator: GroupCoordinator
    creation: TopicCreation
    auto_create_topics: bool
    described_partitions: int
    producer_ids: ProducerIdBlocks
    description: ConfigDescription
    forwarder: FilteringForwarder
    tokens: DelegationTokens | None
    stored: StoredConfigs
    epoch_checks: EpochChecks
    new_topic_configs: NewTopicConfigs
    scheduler: TaskScheduler


def build_resource_authorizers(components: ControllerHandlerDependencies) -> dict[ApiKey, ResourceAuthorizer]:
    """The handlers of changes that need more than a right on the cluster. They authorize resources also on the broker
    that receives the request (F6)."""
    authorizer, cache, controller, throttling = (
        components.authorizer,
        components.cache,
        components.changes,
        components.throttling,
    )
    alter, increment = (
        AlterConfigsHandler(
            key, controller, authorizer, components.broker_config_validator, BrokerLoggers(components.epochs.node_id)
        )
        for key in (ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS)
    )
    return {
        ApiKey.CREATE_TOPICS: CreateTopicsHandler(controller, authorizer, throttling, components.default_partitions),
        ApiKey.DELETE_TOPICS: DeleteTopicsHandler(controller, authorizer, cache, throttling),
        ApiKey.CREATE_PARTITIONS: CreatePartitionsHandler(controller, authorizer, throttling, cache),
        ApiKey.ALTER_CONFIGS: alter,
        ApiKey.INCREMENTAL_ALTER_CONFIGS: increment,
        **{key: ChangeTokenHandler(key, controller, authorizer, components.token_secret) for key in _TOKEN_CHANGES},
    }


def build_controller_handlers(
    components: ControllerHandlerDependencies, authorizers: Mapping[ApiKey, ResourceAuthorizer]
) -> dict[ApiKey, Handler]:
    """Returns one handler for each API in `broker/routes.CONTROLLER_ROUTES`."""
    node_id, authorizer, cache, controller = (
        components.epochs.node_id,
        components.authorizer,
        components.cache,
        components.changes,
    )
    handlers: dict[ApiKey, Handler] = {
        **authorizers,
        ApiKey.API_VERSIONS: ApiVersionsHandler(
            components.advertised, components.cluster_id, node_id, components.misroutes, cache, components.software
        ),
        ApiKey.UPDATE_FEATURES: UpdateFeaturesHandler(controller, authorizer),
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS: AlterUserScramCredentialsHandler(controller, authorizer),
        ApiKey.ALTER_CLIENT_QUOTAS: AlterClientQuotasHandler(controller, authorizer),
        ApiKey.ELECT_LEADERS: ElectLeadersHandler(controller, authorizer),
        ApiKey.ENVELOPE: EnvelopeHandler(
            components.router, components.controller, authorizer, components.serde, components.audit
        ),
    }
    for key in (ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS):
        handlers[key] = AlterAclsHandler(key, controller, authorizer, keeps_acls=components.acls is not None)
    for key in (ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.LIST_PARTITION_REASSIGNMENTS):
        handlers[key] = PartitionReassignmentsHandler(key, controller, authorizer)
    for key in (ApiKey.CONTROLLED_SHUTDOWN, ApiKey.ALTER_PARTITION, ApiKey.ALLOCATE_PRODUCER_IDS):
        handlers[key] = ControllerRequestHandler(key, controller, authorizer, components.peer_listeners)
    return handlers


def build_handlers(components: HandlerDependencies) -> dict[ApiKey, Handler]:
    """Returns one handler for each API in `broker/routes.py`."""
    node_id, authorizer, cache = components.epochs.node_id, components.authorizer, components.cache
    coordinator, replicas = components.coordinator, components.replicas
    creation = components.creation if components.auto_create_topics else None
    authorizers = build_resource_authorizers(components)
    handlers = build_controller_handlers(components, authorizers) | {
        ApiKey.PRODUCE: ProduceHandler(replicas, cache, authorizer),
        ApiKey.FETCH: FetchHandler(replicas, cache, authorizer, components.throttling, components.peer_listeners),
        ApiKey.LIST_OFFSETS: ListOffsetsHandler(replicas, authorizer),
        ApiKey.METADATA: MetadataHandler(
            cache, components.cluster_id, authorizer, components.exposed, creation, components.recent_disconnects
        ),
        ApiKey.OFFSET_COMMIT: OffsetCommitHandler(coordinator, cache, authorizer),
        ApiKey.OFFSET_FETCH: OffsetFetchHandler(coordinator, cache, authorizer),
        ApiKey.FIND_COORDINATOR: FindCoordinatorHandler(cache, authorizer, components.creation),
        ApiKey.DESCRIBE_GROUPS: DescribeGroupsHandler(coordinator, authorizer),
        ApiKey.LIST_GROUPS: ListGroupsHandler(coordinator, authorizer),
        ApiKey.DELETE_GROUPS: DeleteGroupsHandler(coordinator, authorizer),
        ApiKey.OFFSET_DELETE: OffsetDeleteHandler(coordinator, cache, authorizer),
        ApiKey.DELETE_RECORDS: DeleteRecordsHandler(replicas, authorizer),
        ApiKey.INIT_PRODUCER_ID: InitProducerIdHandler(components.producer_ids, authorizer),
        ApiKey.OFFSET_FOR_LEADER_EPOCH: OffsetForLeaderEpochHandler(replicas, authorizer, components.peer_listeners),
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: DescribeUserScramCredentialsHandler(components.stored, authorizer),
        ApiKey.DESCRIBE_CLIENT_QUOTAS: DescribeClientQuotasHandler(components.stored, authorizer),
        ApiKey.DESCRIBE_ACLS: DescribeAclsHandler(components.acls, authorizer, components.scheduler),
        ApiKey.DESCRIBE_CONFIGS: DescribeConfigsHandler(components.description, cache, node_id, authorizer),
        ApiKey.ALTER_REPLICA_LOG_DIRS: AlterReplicaLogDirsHandler(replicas.logs, cache, authorizer),
        ApiKey.DESCRIBE_LOG_DIRS: DescribeLogDirsHandler(replicas.logs, authorizer),
        ApiKey.DESCRIBE_DELEGATION_TOKEN: DescribeDelegationTokenHandler(
            components.tokens, authorizer, components.token_secret, components.scheduler
        ),
        ApiKey.DESCRIBE_CLUSTER: DescribeClusterHandler(cache, components.cluster_id, authorizer, components.exposed),
        ApiKey.LIST_CONFIG_RESOURCES: ListConfigResourcesHandler(components.stored, cache, authorizer),
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: DescribeTopicPartitionsHandler(
            cache, authorizer, components.described_partitions
        ),
    }
    components.forwarder.install(forwarding_filters(authorizer, authorizers))
    control_queue, pacer = ControlRequestQueue(components.scheduler), ResponsePacer(components.scheduler)
    for key, apply in (
        (ApiKey.LEADER_AND_ISR, replicas.become_leader_or_follower),
        (ApiKey.STOP_REPLICA, replicas.stop_replica),
        (ApiKey.UPDATE_METADATA, partial(_update_metadata, cache)),
    ):
        handlers[key] = ControlRequestHandler(
            authorizer,
            components.epochs,
            components.epoch_checks,
            components.new_topic_configs,
            control_queue,
            apply,
            components.peer_listeners,
        )
    for key, call in (
        (ApiKey.JOIN_GROUP, coordinator.join_group),
        (ApiKey.HEARTBEAT, coordinator.heartbeat),
        (ApiKey.LEAVE_GROUP, coordinator.leave_group),
        (ApiKey.SYNC_GROUP, coordinator.sync_group),
    ):
        handlers[key] = GroupMembershipHandler(call, authorizer, pacer)
    return handlers


def _update_metadata(cache: MetadataCache, request: UpdateMetadataRequest, version: int) -> UpdateMetadataResponse:
    cache.apply_update_metadata(request)
    return UpdateMetadataResponse()
