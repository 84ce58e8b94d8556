"""ListGroups, api 16: the groups that this broker coordinates.

4 filters by state (KIP-518), 5 by group type (KIP-848).
"""

from __future__ import annotations

from signalbox.protocol.message import message

ListGroupsRequest = message(
    __name__,
    """
    ListGroupsRequest   api 16   versions 0-5   flexible 3+

    StatesFilter  4+    []string
    TypesFilter   5+    []string
    """,
)

ListGroupsResponse = message(
    __name__,
    """
    ListGroupsResponse   api 16   versions 0-5   flexible 3+

    ThrottleTimeMs  1+    int32          ignorable
    ErrorCode       0+    int16
    Groups          0+    []ListedGroup
      GroupId       0+    string
      ProtocolType  0+    string
      GroupState    4+    string         ignorable
      GroupType     5+    string         ignorable
    """,
)
