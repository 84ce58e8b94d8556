"""DeleteGroups, api 42: remove groups that have no members (KIP-229).

2 is the first flexible version, 3 brought the error's text (KIP-1043).
"""

from __future__ import annotations

from signalbox.protocol.message import message

DeleteGroupsRequest = message(
    __name__,
    """
    DeleteGroupsRequest   api 42   versions 0-3   flexible 2+

    GroupsNames  0+    []string
    """,
)

DeleteGroupsResponse = message(
    __name__,
    """
    DeleteGroupsResponse   api 42   versions 0-3   flexible 2+

    ThrottleTimeMs  0+    int32
    Results         0+    []DeletableGroupResult
      GroupId       0+    string
      ErrorCode     0+    int16
      ErrorMessage  3+    string? = null  ignorable
    """,
)
