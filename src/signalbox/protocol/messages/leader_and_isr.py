"""LeaderAndIsr, api 4: the controller makes a broker leader or follower of partitions (ZooKeeper era).

Sent over the control plane (SPEC C2). 1 brought IsNew, 2 broker epochs and grouping by topic, 3 reassignment
(KIP-455), 5 topic ids (KIP-516), 6 recovery after an unclean election (KIP-704), 7 the mark of a KRaft controller
(KIP-866).
"""

from __future__ import annotations

from signalbox.protocol.message import message

LeaderAndIsrRequest = message(
    __name__,
    """
    LeaderAndIsrRequest   api 4   versions 0-7   flexible 4+

    ControllerId                       0+    int32
    isKRaftController                  7+    bool
    ControllerEpoch                    0+    int32
    BrokerEpoch                        2+    int64 = -1                    ignorable
    Type                               5+    int8
    UngroupedPartitionStates           0-1   []LeaderAndIsrPartitionState
    TopicStates                        2+    []LeaderAndIsrTopicState
      TopicName                        2+    string
      TopicId                          5+    uuid                          ignorable
      PartitionStates                  2+    []LeaderAndIsrPartitionState
    LiveLeaders                        0+    []LeaderAndIsrLiveLeader
      BrokerId                         0+    int32
      HostName                         0+    string
      Port                             0+    int32

    struct LeaderAndIsrPartitionState
      TopicName                        0-1   string                        ignorable
      PartitionIndex                   0+    int32
      ControllerEpoch                  0+    int32
      Leader                           0+    int32
      LeaderEpoch                      0+    int32
      Isr                              0+    []int32
      PartitionEpoch                   0+    int32
      Replicas                         0+    []int32
      AddingReplicas                   3+    []int32                       ignorable
      RemovingReplicas                 3+    []int32                       ignorable
      IsNew                            1+    bool                          ignorable
      LeaderRecoveryState              6+    int8
    """,
)

LeaderAndIsrResponse = message(
    __name__,
    """
    LeaderAndIsrResponse   api 4   versions 0-7   flexible 4+

    ErrorCode                          0+    int16
    PartitionErrors                    0-4   []LeaderAndIsrPartitionError
    Topics                             5+    []LeaderAndIsrTopicError
      TopicId                          5+    uuid
      PartitionErrors                  5+    []LeaderAndIsrPartitionError

    struct LeaderAndIsrPartitionError
      TopicName                        0-4   string                        ignorable
      PartitionIndex                   0+    int32
      ErrorCode                        0+    int16
    """,
)
