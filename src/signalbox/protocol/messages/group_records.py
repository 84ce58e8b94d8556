"""Records of the topic `__consumer_offsets`: committed offsets and classic groups, in Kafka's own layout.

Key and value are each preceded by two bytes with their version; the key's version is the record's type (0 and 1 an
offset, 2 a group). A null value deletes. Kafka writes values of version 3 (offsets) and 3 (groups) today.
"""

from __future__ import annotations

from signalbox.protocol.message import message

OffsetCommitKey = message(
    __name__,
    """
    OffsetCommitKey   versions 0-1   flexible none

    group       0-1   string
    topic       0-1   string
    partition   0-1   int32
    """,
)

OffsetCommitValue = message(
    __name__,
    """
    OffsetCommitValue   versions 0-4   flexible 4+

    offset           0+    int64
    leaderEpoch      3+    int32 = -1  ignorable
    metadata         0+    string
    commitTimestamp  0+    int64
    expireTimestamp  1     int64 = -1  ignorable
    topicId          4+    uuid        ignorable tag 0
    """,
)

GroupMetadataKey = message(
    __name__,
    """
    GroupMetadataKey   versions 2   flexible none

    group       2     string
    """,
)

GroupMetadataValue = message(
    __name__,
    """
    GroupMetadataValue   versions 0-4   flexible 4+

    protocolType           0+    string
    generation             0+    int32
    protocol               0+    string?
    leader                 0+    string?
    currentStateTimestamp  2+    int64 = -1        ignorable
    members                0+    []MemberMetadata

    struct MemberMetadata
      memberId             0+    string
      groupInstanceId      3+    string? = null    ignorable
      clientId             0+    string
      clientHost           0+    string
      rebalanceTimeout     1+    int32 = -1        ignorable
      sessionTimeout       0+    int32
      subscription         0+    bytes
      assignment           0+    bytes
    """,
)
