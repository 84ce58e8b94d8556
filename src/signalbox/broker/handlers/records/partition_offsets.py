"""ListOffsets (2), OffsetForLeaderEpoch (23), DeleteRecords (21): offsets that the partition leader returns or changes.
Versions 1-11, 2-4, 0-2.

ListOffsets needs DESCRIBE on the topic, OffsetForLeaderEpoch DESCRIBE or CLUSTER_ACTION (with a replica id
CLUSTER_ACTION and an internal listener), DeleteRecords DELETE. The replication package returns the results per
partition.
"""

from __future__ import annotations

from collections.abc import Callable, Container

from signalbox.broker.api_request import ApiRequest, HandlerResult
from signalbox.broker.authorization.authorization import may, may_change_records
from signalbox.broker.authorization.cluster_action import acts_as_replica, may_act_on_cluster
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer


class _LeaderHandler:
    def __init__(self, replicas: ReplicaManager, authorizer: Authorizer) -> None:
        self._replicas = replicas
        self._authorizer = authorizer

    def _authorized_for(self, request: ApiRequest, operation: AclOperation) -> Callable[[str], bool]:
        return lambda topic: may(self._authorizer, request.context, operation, topic)


class ListOffsetsHandler(_LeaderHandler):
    def __call__(self, request: ApiRequest) -> HandlerResult:
        return self._replicas.list_offsets(
            request.body, request.header.api_version, self._authorized_for(request, AclOperation.DESCRIBE)
        )


class OffsetForLeaderEpochHandler(_LeaderHandler):
    def __init__(self, replicas: ReplicaManager, authorizer: Authorizer, peer_listeners: Container[str] = ()) -> None:
        super().__init__(replicas, authorizer)
        self._peer_listeners = peer_listeners

    def __call__(self, request: ApiRequest) -> HandlerResult:
        """Yields."""
        if request.body.replica_id >= 0:
            acts = acts_as_replica(self._authorizer, request.context, self._peer_listeners)
            return self._replicas.offsets_for_leader_epoch(request.body, lambda topic: acts)
        if may_act_on_cluster(self._authorizer, request.context):
            return self._replicas.offsets_for_leader_epoch(request.body, lambda topic: True)
        return self._replicas.offsets_for_leader_epoch(
            request.body, self._authorized_for(request, AclOperation.DESCRIBE)
        )


class DeleteRecordsHandler(_LeaderHandler):
    def __call__(self, request: ApiRequest) -> HandlerResult:
        who = request.context
        return self._replicas.delete_records(
            request.body, lambda topic: may_change_records(self._authorizer, who, AclOperation.DELETE, topic)
        )
