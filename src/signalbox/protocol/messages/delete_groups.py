"""DeleteGroups"""

from __future__ import annotations

from signalbox.protocol.message import message

DeleteGroupsRequest = message(
    __name__,
    """
    DeleteGroupsRequest   api 42   versions 0-2   flexible 2+

    GroupsNames  0+    []string
    """,
)

DeleteGroupsResponse = message(
    __name__,
    """
    DeleteGroupsResponse   api 42   versions 0-2   flexible 2+

    ThrottleTimeMs  0+    int32
    Results         0+    []DeletableGroupResult
      GroupId       0+    string
      ErrorCode     0+    int16
    """,
)
