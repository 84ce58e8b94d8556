"""AlterPartition, api 56: a leader asks the controller for another in-sync set (KIP-497).

1 brought recovery after an unclean election (KIP-704), 2 topic ids (KIP-841), 3 broker epochs of the members
(KIP-903).
"""

from __future__ import annotations

from signalbox.protocol.message import message

AlterPartitionRequest = message(
    __name__,
    """
    AlterPartitionRequest   api 56   versions 0-3   flexible 0+

    BrokerId                 0+    int32
    BrokerEpoch              0+    int64 = -1
    Topics                   0+    []TopicData
      TopicName              0-1   string           ignorable
      TopicId                2+    uuid             ignorable
      Partitions             0+    []PartitionData
        PartitionIndex       0+    int32
        LeaderEpoch          0+    int32
        NewIsr               0-2   []int32
        NewIsrWithEpochs     3+    []BrokerState
          BrokerId           3+    int32
          BrokerEpoch        3+    int64 = -1
        LeaderRecoveryState  1+    int8
        PartitionEpoch       0+    int32
    """,
)

AlterPartitionResponse = message(
    __name__,
    """
    AlterPartitionResponse   api 56   versions 0-3   flexible 0+

    ThrottleTimeMs           0+    int32
    ErrorCode                0+    int16
    Topics                   0+    []TopicData
      TopicName              0-1   string           ignorable
      TopicId                2+    uuid             ignorable
      Partitions             0+    []PartitionData
        PartitionIndex       0+    int32
        ErrorCode            0+    int16
        LeaderId             0+    int32
        LeaderEpoch          0+    int32
        Isr                  0+    []int32
        LeaderRecoveryState  1+    int8             ignorable
        PartitionEpoch       0+    int32
    """,
)
