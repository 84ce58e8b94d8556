"""Which node handles which API: the table from which ApiVersions is derived.

LOCAL: any broker. LEADER: the partition leader; other brokers return an error per partition. COORDINATOR: the
coordinator of the group or transactional id. CONTROLLER: the active controller; any other broker forwards (KIP-590).
PEER: requests between brokers or from the controller to brokers, never from clients.
`wiring/handler_table.py` contains the handler of each row; `build_route_table` rejects a row without one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from signalbox.broker.api_request import Handler
from signalbox.broker.forwarding.version_ceilings import NO_CEILINGS, VersionCeilings
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.schema import NEWEST


class Disposition(Enum):
    LOCAL = "local"
    LEADER = "leader"
    COORDINATOR = "coordinator"
    CONTROLLER = "controller"
    PEER = "peer"


class Audited(Enum):
    """How a request is audited: as one event, rolled up with other requests of its connection, or not at all."""

    SINGLY = "singly"
    ROLLED_UP = "rolled up"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class RouteRow:
    """The row of one API: which node handles it, and how it is audited."""

    api_key: ApiKey
    disposition: Disposition
    audited: Audited = Audited.ROLLED_UP
    answers_long: bool = False  # a small request may take long or have a long response: it runs in slices


_LOCAL, _LEADER, _COORDINATOR = Disposition.LOCAL, Disposition.LEADER, Disposition.COORDINATOR
_CONTROLLER, _PEER = Disposition.CONTROLLER, Disposition.PEER

ROUTES: tuple[RouteRow, ...] = (
    RouteRow(ApiKey.PRODUCE, _LEADER),
    RouteRow(ApiKey.FETCH, _LEADER),
    RouteRow(ApiKey.LIST_OFFSETS, _LEADER, answers_long=True),
    RouteRow(ApiKey.METADATA, _LOCAL, answers_long=True),
    RouteRow(ApiKey.LEADER_AND_ISR, _PEER),
    RouteRow(ApiKey.STOP_REPLICA, _PEER),
    RouteRow(ApiKey.UPDATE_METADATA, _PEER),
    RouteRow(ApiKey.CONTROLLED_SHUTDOWN, _PEER, Audited.SINGLY),
    RouteRow(ApiKey.OFFSET_COMMIT, _COORDINATOR),
    RouteRow(ApiKey.OFFSET_FETCH, _COORDINATOR),
    RouteRow(ApiKey.FIND_COORDINATOR, _LOCAL),
    RouteRow(ApiKey.JOIN_GROUP, _COORDINATOR),
    RouteRow(ApiKey.HEARTBEAT, _COORDINATOR),
    RouteRow(ApiKey.LEAVE_GROUP, _COORDINATOR),
    RouteRow(ApiKey.SYNC_GROUP, _COORDINATOR),
    RouteRow(ApiKey.DESCRIBE_GROUPS, _COORDINATOR, answers_long=True),
    RouteRow(ApiKey.LIST_GROUPS, _LOCAL, answers_long=True),
    RouteRow(ApiKey.API_VERSIONS, _LOCAL),
    RouteRow(ApiKey.CREATE_TOPICS, _CONTROLLER, Audited.SINGLY),
    RouteRow(ApiKey.DELETE_TOPICS, _CONTROLLER, Audited.SINGLY),
    RouteRow(ApiKey.DELETE_RECORDS, _LEADER),
    RouteRow(ApiKey.INIT_PRODUCER_ID, _LOCAL),
    RouteRow(ApiKey.OFFSET_FOR_LEADER_EPOCH, _LEADER),
    RouteRow(ApiKey.ADD_PARTITIONS_TO_TXN, _COORDINATOR),
    RouteRow(ApiKey.ADD_OFFSETS_TO_TXN, _COORDINATOR),
    RouteRow(ApiKey.END_TXN, _COORDINATOR),
    RouteRow(ApiKey.TXN_OFFSET_COMMIT, _COORDINATOR),
    RouteRow(ApiKey.WRITE_TXN_MARKERS, _LEADER),
    RouteRow(ApiKey.DESCRIBE_ACLS, _LOCAL, answers_long=True),
    RouteRow(ApiKey.CREATE_ACLS, _CONTROLLER, Audited.SINGLY),
    RouteRow(ApiKey.DELETE_ACLS, _CONTROLLER, Audited.SINGLY),
    RouteRow(ApiKey.DESCRIBE_CONFIGS, _LOCAL, answers_long=True),
    RouteRow(ApiKey.ALTER_CONFIGS, _CONTROLLER, Audited.SINGLY),
    RouteRow(ApiKey.ALTER_REPLICA_LOG_DIRS, _LOCAL, Audited.SINGLY),
    RouteRow(ApiKey.DESCRIBE_LOG_DIRS, _LOCAL, answers_long=True),
    RouteRow(ApiKey.CREATE_PARTITIONS, _CONTROLLER, Audited.SINGLY),
    RouteRow(ApiKey.CREATE_DELEGATION_TOKEN, _CONTROLLER, Audited.SINGLY),
    RouteRow(ApiKey.RENEW_DELEGATION_TOKEN, _CONTROLLER, Audited.SINGLY),
    RouteRow(ApiKey.EXPIRE_DELEGATION_TOKEN, _CONTROLLER, Audited.SINGLY),
    RouteRow(ApiKey.DESCRIBE_DELEGATION_TOKEN, _LOCAL, answers_long=True),
    RouteRow(ApiKey.DELETE_GROUPS, _COORDINATOR),
    RouteRow(ApiKey.ELECT_LEADERS, _CONTROLLER, Audited.SINGLY),
    RouteRow(ApiKey.INCREMENTAL_ALTER_CONFIGS, _CONTROLLER, Audited.SINGLY),
    RouteRow(ApiKey.ALTER_PARTITION_REASSIGNMENTS, _CONTROLLER, Audited.SINGLY),
    RouteRow(ApiKey.LIST_PARTITION_REASSIGNMENTS, _CONTROLLER),
    RouteRow(ApiKey.OFFSET_DELETE, _COORDINATOR),
    RouteRow(ApiKey.DESCRIBE_CLIENT_QUOTAS, _LOCAL),
    RouteRow(ApiKey.ALTER_CLIENT_QUOTAS, _CONTROLLER, Audited.SINGLY),
    RouteRow(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, _LOCAL, answers_long=True),
    RouteRow(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, _CONTROLLER, Audited.SINGLY),
    RouteRow(ApiKey.ALTER_PARTITION, _PEER, Audited.NEVER),
    RouteRow(ApiKey.UPDATE_FEATURES, _CONTROLLER, Audited.SINGLY),
    RouteRow(ApiKey.ENVELOPE, _PEER, Audited.NEVER),
    RouteRow(ApiKey.DESCRIBE_CLUSTER, _LOCAL),
    RouteRow(ApiKey.DESCRIBE_TRANSACTIONS, _COORDINATOR, answers_long=True),
    RouteRow(ApiKey.LIST_TRANSACTIONS, _LOCAL, answers_long=True),
    RouteRow(ApiKey.DESCRIBE_PRODUCERS, _LEADER, answers_long=True),
    RouteRow(ApiKey.ALLOCATE_PRODUCER_IDS, _PEER),
    RouteRow(ApiKey.LIST_CONFIG_RESOURCES, _LOCAL, answers_long=True),
    RouteRow(ApiKey.DESCRIBE_TOPIC_PARTITIONS, _LOCAL, answers_long=True),
)

CONTROLLER_ROUTES: tuple[RouteRow, ...] = tuple(
    row for row in ROUTES if row.disposition is _CONTROLLER or API_TABLE[row.api_key].controller
)
"""The APIs of a dedicated controller (F15): those that its listeners accept, and those that arrive in an Envelope."""


@dataclass(frozen=True, slots=True)
class Route:
    """A row with the handler that `wiring` built for it, and the highest accepted version."""

    row: RouteRow
    handler: Handler
    max_version: int = NEWEST


RouteTable = dict[int, Route]


def build_route_table(
    handlers: dict[ApiKey, Handler], rows: Sequence[RouteRow] = ROUTES, ceilings: VersionCeilings = NO_CEILINGS
) -> RouteTable:
    """The complete table. ValueError names the rows without a handler and the handlers without a row."""
    missing = [row.api_key.name for row in rows if row.api_key not in handlers]
    without_route = [key.name for key in handlers if key not in {row.api_key for row in rows}]
    if missing or without_route:
        raise ValueError(f"routes without a handler: {missing}; handlers without a route: {without_route}")
    return {int(row.api_key): Route(row, handlers[row.api_key], ceilings.get(row.api_key, NEWEST)) for row in rows}


def served_versions() -> dict[int, tuple[int, int]]:
    """API key → (lowest, highest) version that the network accepts, on every listener: those of the route table. The
    network itself limits a forced control plane further."""
    return {
        int(row.api_key): (API_TABLE[row.api_key].min_version, API_TABLE[row.api_key].max_version) for row in ROUTES
    }
