"""Subscriptions and assignments in JoinGroup and SyncGroup; the broker does not read them.

Each is preceded by two bytes with its version; a reader takes a newer version for its own newest one and
ignores what follows (`decode_prefix`). 1 brought owned partitions (KIP-429), 2 the generation, 3 the rack.
"""

from __future__ import annotations

from signalbox.protocol.message import message

ConsumerProtocolSubscription = message(
    __name__,
    """
    ConsumerProtocolSubscription   versions 0-3   flexible none

    Topics           0+    []string
    UserData         0+    bytes? = null
    OwnedPartitions  1+    []TopicPartition  ignorable
      Topic          1+    string
      Partitions     1+    []int32
    GenerationId     2+    int32 = -1        ignorable
    RackId           3+    string? = null    ignorable
    """,
)

ConsumerProtocolAssignment = message(
    __name__,
    """
    ConsumerProtocolAssignment   versions 0-3   flexible none

    AssignedPartitions  0+    []TopicPartition
      Topic             0+    string
      Partitions        0+    []int32
    UserData            0+    bytes? = null
    """,
)
