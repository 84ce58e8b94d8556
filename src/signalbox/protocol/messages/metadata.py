"""Metadata, api 3: brokers, topics, partition leaders, as seen from the listener that was asked (SPEC L10).

Topics null = all; in version 0 an empty list means all. 4 brought the choice whether a topic may be created, 7
leader epochs, 8 authorized operations, 10 topic ids in the response, 12 asking by id, 13 a top-level error, which can
be REBOOTSTRAP_REQUIRED (KIP-1102).
"""

from __future__ import annotations

from signalbox.protocol.message import message

MetadataRequest = message(
    __name__,
    """
    MetadataRequest   api 3   versions 0-13   flexible 9+

    Topics                              0+    []MetadataRequestTopic?1+
      TopicId                           10+   uuid                       ignorable
      Name                              0+    string?10+
    AllowAutoTopicCreation              4+    bool = true
    IncludeClusterAuthorizedOperations  8-10  bool
    IncludeTopicAuthorizedOperations    8+    bool
    """,
)

MetadataResponse = message(
    __name__,
    """
    MetadataResponse   api 3   versions 0-13   flexible 9+

    ThrottleTimeMs               3+    int32                        ignorable
    Brokers                      0+    []MetadataResponseBroker
      NodeId                     0+    int32
      Host                       0+    string
      Port                       0+    int32
      Rack                       1+    string? = null               ignorable
    ClusterId                    2+    string? = null               ignorable
    ControllerId                 1+    int32 = -1                   ignorable
    Topics                       0+    []MetadataResponseTopic
      ErrorCode                  0+    int16
      Name                       0+    string?12+
      TopicId                    10+   uuid                         ignorable
      IsInternal                 1+    bool                         ignorable
      Partitions                 0+    []MetadataResponsePartition
        ErrorCode                0+    int16
        PartitionIndex           0+    int32
        LeaderId                 0+    int32
        LeaderEpoch              7+    int32 = -1                   ignorable
        ReplicaNodes             0+    []int32
        IsrNodes                 0+    []int32
        OfflineReplicas          5+    []int32                      ignorable
      TopicAuthorizedOperations  8+    int32 = -2147483648
    ClusterAuthorizedOperations  8-10  int32 = -2147483648
    ErrorCode                    13+   int16                        ignorable
    """,
)
