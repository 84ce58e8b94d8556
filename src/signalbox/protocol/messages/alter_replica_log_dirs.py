"""AlterReplicaLogDirs, api 34: move replicas between the disks of one broker (KIP-113).

2 is the first flexible version.
"""

from __future__ import annotations

from signalbox.protocol.message import message

AlterReplicaLogDirsRequest = message(
    __name__,
    """
    AlterReplicaLogDirsRequest   api 34   versions 1-2   flexible 2+

    Dirs            0+    []AlterReplicaLogDir
      Path          0+    string
      Topics        0+    []AlterReplicaLogDirTopic
        Name        0+    string
        Partitions  0+    []int32
    """,
)

AlterReplicaLogDirsResponse = message(
    __name__,
    """
    AlterReplicaLogDirsResponse   api 34   versions 1-2   flexible 2+

    ThrottleTimeMs      0+    int32
    Results             0+    []AlterReplicaLogDirTopicResult
      TopicName         0+    string
      Partitions        0+    []AlterReplicaLogDirPartitionResult
        PartitionIndex  0+    int32
        ErrorCode       0+    int16
    """,
)
