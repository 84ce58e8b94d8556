"""DescribeGroups, api 15: state and members of classic groups.

3 brought authorized operations, 4 static members, 6 an error message and GROUP_ID_NOT_FOUND.
"""

from __future__ import annotations

from signalbox.protocol.message import message

DescribeGroupsRequest = message(
    __name__,
    """
    DescribeGroupsRequest   api 15   versions 0-6   flexible 5+

    Groups                       0+    []string
    IncludeAuthorizedOperations  3+    bool
    """,
)

DescribeGroupsResponse = message(
    __name__,
    """
    DescribeGroupsResponse   api 15   versions 0-6   flexible 5+

    ThrottleTimeMs          1+    int32                   ignorable
    Groups                  0+    []DescribedGroup
      ErrorCode             0+    int16
      ErrorMessage          6+    string? = null
      GroupId               0+    string
      GroupState            0+    string
      ProtocolType          0+    string
      ProtocolData          0+    string
      Members               0+    []DescribedGroupMember
        MemberId            0+    string
        GroupInstanceId     4+    string? = null          ignorable
        ClientId            0+    string
        ClientHost          0+    string
        MemberMetadata      0+    bytes
        MemberAssignment    0+    bytes
      AuthorizedOperations  3+    int32 = -2147483648
    """,
)
