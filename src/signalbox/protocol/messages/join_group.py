"""JoinGroup, api 11: join a classic consumer group; answered when the rebalance is complete.

1 brought a rebalance timeout of its own, 4 the member id given before the first real join (KIP-394), 5 static
members (KIP-345), 7 the protocol type in the response, 8 a reason (KIP-800), 9 SkipAssignment.
"""

from __future__ import annotations

from signalbox.protocol.message import message

JoinGroupRequest = message(
    __name__,
    """
    JoinGroupRequest   api 11   versions 0-9   flexible 6+

    GroupId             0+    string
    SessionTimeoutMs    0+    int32
    RebalanceTimeoutMs  1+    int32 = -1                  ignorable
    MemberId            0+    string
    GroupInstanceId     5+    string? = null
    ProtocolType        0+    string
    Protocols           0+    []JoinGroupRequestProtocol
      Name              0+    string
      Metadata          0+    bytes
    Reason              8+    string? = null              ignorable
    """,
)

JoinGroupResponse = message(
    __name__,
    """
    JoinGroupResponse   api 11   versions 0-9   flexible 6+

    ThrottleTimeMs     2+    int32                      ignorable
    ErrorCode          0+    int16
    GenerationId       0+    int32 = -1
    ProtocolType       7+    string? = null             ignorable
    ProtocolName       0+    string?7+
    Leader             0+    string
    SkipAssignment     9+    bool
    MemberId           0+    string
    Members            0+    []JoinGroupResponseMember
      MemberId         0+    string
      GroupInstanceId  5+    string? = null             ignorable
      Metadata         0+    bytes
    """,
)
