"""StopReplica, api 5: the controller stops replicas of a broker, and has their files deleted if the request says so.

ZooKeeper era, over the control plane (SPEC C2). 1 brought broker epochs and grouping by topic, 3 a leader epoch and
its own delete mark for every partition (KIP-570), 4 the mark of a KRaft controller.
"""

from __future__ import annotations

from signalbox.protocol.message import message

StopReplicaRequest = message(
    __name__,
    """
    StopReplicaRequest   api 5   versions 0-4   flexible 2+

    ControllerId         0+    int32
    isKRaftController    4+    bool
    ControllerEpoch      0+    int32
    BrokerEpoch          1+    int64 = -1                   ignorable
    DeletePartitions     0-2   bool
    UngroupedPartitions  0     []StopReplicaPartitionV0
      TopicName          0     string
      PartitionIndex     0     int32
    Topics               1-2   []StopReplicaTopicV1
      Name               1-2   string
      PartitionIndexes   1-2   []int32
    TopicStates          3+    []StopReplicaTopicState
      TopicName          3+    string
      PartitionStates    3+    []StopReplicaPartitionState
        PartitionIndex   3+    int32
        LeaderEpoch      3+    int32 = -1
        DeletePartition  3+    bool
    """,
)

StopReplicaResponse = message(
    __name__,
    """
    StopReplicaResponse   api 5   versions 0-4   flexible 2+

    ErrorCode         0+    int16
    PartitionErrors   0+    []StopReplicaPartitionError
      TopicName       0+    string
      PartitionIndex  0+    int32
      ErrorCode       0+    int16
    """,
)
