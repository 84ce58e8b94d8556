"""DescribeLogDirs, api 35: the replicas in a broker's log directories, and their sizes (KIP-113).

3 brought a top-level error, 4 total and usable bytes (KIP-827), 5 whether a directory takes new replicas.
"""

from __future__ import annotations

from signalbox.protocol.message import message

DescribeLogDirsRequest = message(
    __name__,
    """
    DescribeLogDirsRequest   api 35   versions 1-5   flexible 2+

    Topics        0+    []DescribableLogDirTopic?
      Topic       0+    string
      Partitions  0+    []int32
    """,
)

DescribeLogDirsResponse = message(
    __name__,
    """
    DescribeLogDirsResponse   api 35   versions 1-5   flexible 2+

    ThrottleTimeMs        0+    int32
    ErrorCode             3+    int16                       ignorable
    Results               0+    []DescribeLogDirsResult
      ErrorCode           0+    int16
      LogDir              0+    string
      Topics              0+    []DescribeLogDirsTopic
        Name              0+    string
        Partitions        0+    []DescribeLogDirsPartition
          PartitionIndex  0+    int32
          PartitionSize   0+    int64
          OffsetLag       0+    int64
          IsFutureKey     0+    bool
      TotalBytes          4+    int64 = -1                  ignorable
      UsableBytes         4+    int64 = -1                  ignorable
      IsCordoned          5+    bool                        ignorable
    """,
)
