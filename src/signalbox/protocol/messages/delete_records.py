"""DeleteRecords, api 21: move the log's start offset forward; -1 = up to the high watermark.

2 is the first flexible version.
"""

from __future__ import annotations

from signalbox.protocol.message import message

DeleteRecordsRequest = message(
    __name__,
    """
    DeleteRecordsRequest   api 21   versions 0-2   flexible 2+

    Topics              0+    []DeleteRecordsTopic
      Name              0+    string
      Partitions        0+    []DeleteRecordsPartition
        PartitionIndex  0+    int32
        Offset          0+    int64
    TimeoutMs           0+    int32
    """,
)

DeleteRecordsResponse = message(
    __name__,
    """
    DeleteRecordsResponse   api 21   versions 0-2   flexible 2+

    ThrottleTimeMs      0+    int32
    Topics              0+    []DeleteRecordsTopicResult
      Name              0+    string
      Partitions        0+    []DeleteRecordsPartitionResult
        PartitionIndex  0+    int32
        LowWatermark    0+    int64
        ErrorCode       0+    int16
    """,
)
