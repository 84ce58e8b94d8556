"""LeaveGroup, api 13: members leave a classic group.

3 lets an administrator remove several static members at once (KIP-345), 5 carries a reason (KIP-800).
"""

from __future__ import annotations

from signalbox.protocol.message import message

LeaveGroupRequest = message(
    __name__,
    """
    LeaveGroupRequest   api 13   versions 0-5   flexible 4+

    GroupId            0+    string
    MemberId           0-2   string
    Members            3+    []MemberIdentity
      MemberId         3+    string
      GroupInstanceId  3+    string? = null
      Reason           5+    string? = null    ignorable
    """,
)

LeaveGroupResponse = message(
    __name__,
    """
    LeaveGroupResponse   api 13   versions 0-5   flexible 4+

    ThrottleTimeMs     1+    int32             ignorable
    ErrorCode          0+    int16
    Members            3+    []MemberResponse
      MemberId         3+    string
      GroupInstanceId  3+    string?
      ErrorCode        3+    int16
    """,
)
