"""SyncGroup, api 14: the group's leader sends the assignment, every member receives its own.

3 brought static members (KIP-345), 5 protocol type and name as a cross-check.
"""

from __future__ import annotations

from signalbox.protocol.message import message

SyncGroupRequest = message(
    __name__,
    """
    SyncGroupRequest   api 14   versions 0-5   flexible 4+

    GroupId          0+    string
    GenerationId     0+    int32
    MemberId         0+    string
    GroupInstanceId  3+    string? = null
    ProtocolType     5+    string? = null                ignorable
    ProtocolName     5+    string? = null                ignorable
    Assignments      0+    []SyncGroupRequestAssignment
      MemberId       0+    string
      Assignment     0+    bytes
    """,
)

SyncGroupResponse = message(
    __name__,
    """
    SyncGroupResponse   api 14   versions 0-5   flexible 4+

    ThrottleTimeMs  1+    int32           ignorable
    ErrorCode       0+    int16
    ProtocolType    5+    string? = null  ignorable
    ProtocolName    5+    string? = null  ignorable
    Assignment      0+    bytes
    """,
)
