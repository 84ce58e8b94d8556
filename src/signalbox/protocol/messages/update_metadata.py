"""UpdateMetadata, api 6: the controller sends the live brokers, their endpoints, and the leaders of partitions.

ZooKeeper era, over the control plane (SPEC C2). Live brokers replace the previous ones, partitions are merged. 1
brought several endpoints a broker, 2 racks, 3 listener names (SPEC L9), 4 offline replicas, 5 broker epochs and
grouping by topic, 7 topic ids, 8 the mark of a KRaft controller.
"""

from __future__ import annotations

from signalbox.protocol.message import message

UpdateMetadataRequest = message(
    __name__,
    """
    UpdateMetadataRequest   api 6   versions 0-8   flexible 6+

    ControllerId                         0+    int32
    isKRaftController                    8+    bool
    Type                                 8+    int8                            tag 0
    ControllerEpoch                      0+    int32
    BrokerEpoch                          5+    int64 = -1                      ignorable
    UngroupedPartitionStates             0-4   []UpdateMetadataPartitionState
    TopicStates                          5+    []UpdateMetadataTopicState
      TopicName                          5+    string
      TopicId                            7+    uuid                            ignorable
      PartitionStates                    5+    []UpdateMetadataPartitionState
    LiveBrokers                          0+    []UpdateMetadataBroker
      Id                                 0+    int32
      V0Host                             0     string                          ignorable
      V0Port                             0     int32                           ignorable
      Endpoints                          1+    []UpdateMetadataEndpoint        ignorable
        Port                             1+    int32
        Host                             1+    string
        Listener                         3+    string                          ignorable
        SecurityProtocol                 1+    int16
      Rack                               2+    string?0+                       ignorable

    struct UpdateMetadataPartitionState
      TopicName                          0-4   string                          ignorable
      PartitionIndex                     0+    int32
      ControllerEpoch                    0+    int32
      Leader                             0+    int32
      LeaderEpoch                        0+    int32
      Isr                                0+    []int32
      ZkVersion                          0+    int32
      Replicas                           0+    []int32
      OfflineReplicas                    4+    []int32                         ignorable
    """,
)

UpdateMetadataResponse = message(
    __name__,
    """
    UpdateMetadataResponse   api 6   versions 0-8   flexible 6+

    ErrorCode   0+    int16
    """,
)
