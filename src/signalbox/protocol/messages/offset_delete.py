"""OffsetDelete, api 47: delete a group's offsets of topics it no longer reads (KIP-496). Never flexible.

A partition whose topic the group is subscribed to is rejected.
"""

from __future__ import annotations

from signalbox.protocol.message import message

OffsetDeleteRequest = message(
    __name__,
    """
    OffsetDeleteRequest   api 47   versions 0   flexible none

    GroupId             0+    string
    Topics              0+    []OffsetDeleteRequestTopic
      Name              0+    string
      Partitions        0+    []OffsetDeleteRequestPartition
        PartitionIndex  0+    int32
    """,
)

OffsetDeleteResponse = message(
    __name__,
    """
    OffsetDeleteResponse   api 47   versions 0   flexible none

    ErrorCode           0+    int16
    ThrottleTimeMs      0+    int32                            ignorable
    Topics              0+    []OffsetDeleteResponseTopic
      Name              0+    string
      Partitions        0+    []OffsetDeleteResponsePartition
        PartitionIndex  0+    int32
        ErrorCode       0+    int16
    """,
)
