"""Which API is answered where: the table that ApiVersions is derived from.

LOCAL: any broker answers. LEADER: the partition leader answers, others say so per partition. COORDINATOR: the
group's coordinator answers. CONTROLLER: the active controller decides; any other broker forwards (KIP-590).
PEER: broker to broker or controller to broker, never a client's business.
Handlers are found by name in `broker/handlers/<module>.py`; wiring builds them and hands the finished table over.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from signalbox.broker.api_request import Handler
from signalbox.protocol.api_table import ApiKey


class Disposition(Enum):
    LOCAL = "local"
    LEADER = "leader"
    COORDINATOR = "coordinator"
    CONTROLLER = "controller"
    PEER = "peer"


class Audited(Enum):
    """How a request enters the audit trail: by itself, rolled up with others of its connection, or not at all."""

    SINGLY = "singly"
    ROLLED_UP = "rolled up"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class RouteRow:
    """An API's place in the house. `module` is the handler's file under `broker/handlers/`."""

    api_key: ApiKey
    disposition: Disposition
    module: str
    audited: Audited = Audited.ROLLED_UP


_LOCAL, _LEADER, _COORDINATOR = Disposition.LOCAL, Disposition.LEADER, Disposition.COORDINATOR
_CONTROLLER, _PEER = Disposition.CONTROLLER, Disposition.PEER

ROUTES: tuple[RouteRow, ...] = (
    RouteRow(ApiKey.PRODUCE, _LEADER, "produce"),
    RouteRow(ApiKey.FETCH, _LEADER, "fetch"),
    RouteRow(ApiKey.LIST_OFFSETS, _LEADER, "partition_offsets"),
    RouteRow(ApiKey.METADATA, _LOCAL, "metadata"),
    RouteRow(ApiKey.LEADER_AND_ISR, _PEER, "control_request"),
    RouteRow(ApiKey.STOP_REPLICA, _PEER, "control_request"),
    RouteRow(ApiKey.UPDATE_METADATA, _PEER, "control_request"),
    RouteRow(ApiKey.CONTROLLED_SHUTDOWN, _PEER, "controller_request", Audited.SINGLY),
    RouteRow(ApiKey.OFFSET_COMMIT, _COORDINATOR, "offset_commit"),
    RouteRow(ApiKey.OFFSET_FETCH, _COORDINATOR, "offset_fetch"),
    RouteRow(ApiKey.FIND_COORDINATOR, _LOCAL, "find_coordinator"),
    RouteRow(ApiKey.JOIN_GROUP, _COORDINATOR, "group_membership"),
    RouteRow(ApiKey.HEARTBEAT, _COORDINATOR, "group_membership"),
    RouteRow(ApiKey.LEAVE_GROUP, _COORDINATOR, "group_membership"),
    RouteRow(ApiKey.SYNC_GROUP, _COORDINATOR, "group_membership"),
    RouteRow(ApiKey.DESCRIBE_GROUPS, _COORDINATOR, "describe_groups"),
    RouteRow(ApiKey.LIST_GROUPS, _LOCAL, "describe_groups"),
    RouteRow(ApiKey.API_VERSIONS, _LOCAL, "api_versions"),
    RouteRow(ApiKey.CREATE_TOPICS, _CONTROLLER, "create_topics", Audited.SINGLY),
    RouteRow(ApiKey.DELETE_TOPICS, _CONTROLLER, "delete_topics", Audited.SINGLY),
    RouteRow(ApiKey.DELETE_RECORDS, _LEADER, "partition_offsets"),
    RouteRow(ApiKey.INIT_PRODUCER_ID, _LOCAL, "init_producer_id"),
    RouteRow(ApiKey.OFFSET_FOR_LEADER_EPOCH, _LEADER, "partition_offsets"),
    RouteRow(ApiKey.DESCRIBE_CONFIGS, _LOCAL, "describe_configs"),
    RouteRow(ApiKey.ALTER_CONFIGS, _CONTROLLER, "alter_configs", Audited.SINGLY),
    RouteRow(ApiKey.CREATE_PARTITIONS, _CONTROLLER, "create_partitions", Audited.SINGLY),
    RouteRow(ApiKey.DELETE_GROUPS, _COORDINATOR, "describe_groups"),
    RouteRow(ApiKey.INCREMENTAL_ALTER_CONFIGS, _CONTROLLER, "alter_configs", Audited.SINGLY),
    RouteRow(ApiKey.OFFSET_DELETE, _COORDINATOR, "offset_commit"),
    RouteRow(ApiKey.ALTER_PARTITION, _PEER, "controller_request", Audited.NEVER),
    RouteRow(ApiKey.ENVELOPE, _PEER, "envelope", Audited.NEVER),
    RouteRow(ApiKey.DESCRIBE_CLUSTER, _LOCAL, "describe_cluster"),
    RouteRow(ApiKey.ALLOCATE_PRODUCER_IDS, _PEER, "controller_request"),
    RouteRow(ApiKey.DESCRIBE_TOPIC_PARTITIONS, _LOCAL, "describe_topic_partitions"),
)


@dataclass(frozen=True, slots=True)
class Route:
    """A row with the handler that wiring built for it."""

    row: RouteRow
    handler: Handler


RouteTable = dict[int, Route]


def build_route_table(handlers: dict[ApiKey, Handler]) -> RouteTable:
    """The finished table. ValueError names the rows without a handler and the handlers without a row."""
    missing = [row.api_key.name for row in ROUTES if row.api_key not in handlers]
    strangers = [key.name for key in handlers if key not in {row.api_key for row in ROUTES}]
    if missing or strangers:
        raise ValueError(f"routes without a handler: {missing}; handlers without a route: {strangers}")
    return {int(row.api_key): Route(row, handlers[row.api_key]) for row in ROUTES}
