"""DescribeProducers, api 61: producers active on partitions (KIP-664).

Asked of the partition's leader or a replica.
"""

from __future__ import annotations

from signalbox.protocol.message import message

DescribeProducersRequest = message(
    __name__,
    """
    DescribeProducersRequest   api 61   versions 0   flexible 0+

    Topics              0+    []TopicRequest
      Name              0+    string
      PartitionIndexes  0+    []int32
    """,
)

DescribeProducersResponse = message(
    __name__,
    """
    DescribeProducersResponse   api 61   versions 0   flexible 0+

    ThrottleTimeMs               0+    int32
    Topics                       0+    []TopicResponse
      Name                       0+    string
      Partitions                 0+    []PartitionResponse
        PartitionIndex           0+    int32
        ErrorCode                0+    int16
        ErrorMessage             0+    string? = null
        ActiveProducers          0+    []ProducerState
          ProducerId             0+    int64
          ProducerEpoch          0+    int32
          LastSequence           0+    int32 = -1
          LastTimestamp          0+    int64 = -1
          CoordinatorEpoch       0+    int32
          CurrentTxnStartOffset  0+    int64 = -1
    """,
)
