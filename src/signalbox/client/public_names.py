"""The public names of `signalbox.client`, which offers them: everything else in the package may change."""

from __future__ import annotations

from signalbox.client.admin import AdminClient, ClusterDescription
from signalbox.client.admin_apis.admin_call import AdminResult
from signalbox.client.admin_apis.config_admin import ConfigChange, ConfigEntry, ConfigResource
from signalbox.client.admin_apis.feature_admin import Features, FeatureUpdate, UpgradeType
from signalbox.client.admin_apis.group_admin import CommittedOffset, GroupDescription, GroupListing, GroupMember
from signalbox.client.admin_apis.group_member_admin import assigned_partitions
from signalbox.client.admin_apis.log_dir_admin import LogDir, ReplicaLog
from signalbox.client.admin_apis.offset_admin import EARLIEST, LATEST
from signalbox.client.admin_apis.partition_admin import Reassignment
from signalbox.client.admin_apis.quota_admin import ANY_NAME, quota_entity
from signalbox.client.admin_apis.token_admin import TokenDescription
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.client.admin_apis.transaction_admin import ProducerState, TransactionDescription, TransactionListing
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster.metadata_view import PartitionView, TopicView
from signalbox.client.cluster.rebootstrap import RecoveryPolicy
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.connection.node import Address, Node
from signalbox.client.consumer import Consumer, ConsumerSettings
from signalbox.client.failures import (
    AuthenticationRejected,
    ChannelClosed,
    ClientFailure,
    ConfigRejected,
    ConnectFailed,
    ConnectionLost,
    DeadlinePassed,
    FurtherConnectionClosed,
    Misrouted,
    NoCommittedOffset,
    NoUsableNode,
    PeerBroke,
    TransactionAborted,
    TransactionFailed,
    VersionUnsupported,
    WrongCluster,
)
from signalbox.client.fetch_exchange import ConsumedRecord
from signalbox.client.group_consumer.group_consumer import GroupConsumer
from signalbox.client.group_consumer.group_settings import GroupConsumerSettings, RebalanceListener
from signalbox.client.producer import Producer, ProducerSettings
from signalbox.client.rejections import (
    AuthorizationFailed,
    CommitFailed,
    InvalidTopic,
    MemberFenced,
    PolicyViolated,
    ProducerFenced,
    RequestRejected,
    UnknownTopic,
)
from signalbox.client.route_probe.route_report import RouteReport
from signalbox.client.sender.producer_batch import RecordMetadata
from signalbox.client.sync.sync_client import SyncClient
from signalbox.client.sync.sync_consumer import SyncConsumer
from signalbox.client.sync.sync_group_consumer import SyncGroupConsumer, SyncRebalanceListener
from signalbox.client.sync.sync_producer import SyncProducer
from signalbox.client.transactions.transaction_request import ConsumerGroupMetadata
from signalbox.common.ids import TopicPartition
from signalbox.protocol.config_resource import AlterConfigOp, ConfigResourceType
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.security.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from signalbox.security.acl_filter import AclFilter

__all__ = [
    "ANY_NAME",
    "EARLIEST",
    "LATEST",
    "AccessControlEntry",
    "AclBinding",
    "AclFilter",
    "AclOperation",
    "AclPermission",
    "Address",
    "AdminClient",
    "AdminResult",
    "AlterConfigOp",
    "AuthenticationRejected",
    "AuthorizationFailed",
    "ChannelClosed",
    "ClientFailure",
    "ClientSettings",
    "ClusterClient",
    "ClusterDescription",
    "CommitFailed",
    "CommittedOffset",
    "ConfigChange",
    "ConfigEntry",
    "ConfigRejected",
    "ConfigResource",
    "ConfigResourceType",
    "ConnectFailed",
    "ConnectionLost",
    "ConsumedRecord",
    "Consumer",
    "ConsumerGroupMetadata",
    "ConsumerSettings",
    "DeadlinePassed",
    "Error",
    "FeatureUpdate",
    "Features",
    "FurtherConnectionClosed",
    "GroupConsumer",
    "GroupConsumerSettings",
    "GroupDescription",
    "GroupListing",
    "GroupMember",
    "InvalidTopic",
    "KafkaError",
    "LogDir",
    "MemberFenced",
    "Misrouted",
    "NewTopic",
    "NoCommittedOffset",
    "NoUsableNode",
    "Node",
    "PartitionView",
    "PatternType",
    "PeerBroke",
    "PolicyViolated",
    "Producer",
    "ProducerFenced",
    "ProducerSettings",
    "ProducerState",
    "Reassignment",
    "RebalanceListener",
    "RecordMetadata",
    "RecoveryPolicy",
    "ReplicaLog",
    "RequestRejected",
    "ResourcePattern",
    "ResourceType",
    "RouteReport",
    "SyncClient",
    "SyncConsumer",
    "SyncGroupConsumer",
    "SyncProducer",
    "SyncRebalanceListener",
    "TokenDescription",
    "TopicPartition",
    "TopicView",
    "TransactionAborted",
    "TransactionDescription",
    "TransactionFailed",
    "TransactionListing",
    "UnknownTopic",
    "UpgradeType",
    "VersionUnsupported",
    "WrongCluster",
    "assigned_partitions",
    "quota_entity",
]
