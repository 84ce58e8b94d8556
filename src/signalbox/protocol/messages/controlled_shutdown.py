"""ControlledShutdown"""

from __future__ import annotations

from signalbox.protocol.message import message

ControlledShutdownRequest = message(
    __name__,
    """
    ControlledShutdownRequest   api 7   versions 0-3   flexible 3+

    BrokerId     0+    int32
    BrokerEpoch  2+    int64 = -1  ignorable
    """,
)

ControlledShutdownResponse = message(
    __name__,
    """
    ControlledShutdownResponse   api 7   versions 0-3   flexible 3+

    ErrorCode            0+    int16
    RemainingPartitions  0+    []RemainingPartition
      TopicName          0+    string
      PartitionIndex     0+    int32
    """,
)
