"""CreateTopics, api 19: create topics, by count or by explicit assignment.

-1 for partitions or replication factor is the broker's default (KIP-464). 5 returns the configs
(KIP-525), 6 can return THROTTLING_QUOTA_EXCEEDED (KIP-599), 7 returns the topic id.
"""

from __future__ import annotations

from signalbox.protocol.message import message

CreateTopicsRequest = message(
    __name__,
    """
    CreateTopicsRequest   api 19   versions 2-7   flexible 5+

    Topics               0+    []CreatableTopic
      Name               0+    string
      NumPartitions      0+    int32
      ReplicationFactor  0+    int16
      Assignments        0+    []CreatableReplicaAssignment
        PartitionIndex   0+    int32
        BrokerIds        0+    []int32
      Configs            0+    []CreatableTopicConfig
        Name             0+    string
        Value            0+    string?
    timeoutMs            0+    int32 = 60000
    validateOnly         1+    bool
    """,
)

CreateTopicsResponse = message(
    __name__,
    """
    CreateTopicsResponse   api 19   versions 2-7   flexible 5+

    ThrottleTimeMs          2+    int32                     ignorable
    Topics                  0+    []CreatableTopicResult
      Name                  0+    string
      TopicId               7+    uuid                      ignorable
      ErrorCode             0+    int16
      ErrorMessage          1+    string?0+                 ignorable
      TopicConfigErrorCode  5+    int16                     tag 0 ignorable
      NumPartitions         5+    int32 = -1                ignorable
      ReplicationFactor     5+    int16 = -1                ignorable
      Configs               5+    []CreatableTopicConfigs?  ignorable
        Name                5+    string
        Value               5+    string?
        ReadOnly            5+    bool
        ConfigSource        5+    int8 = -1                 ignorable
        IsSensitive         5+    bool
    """,
)
