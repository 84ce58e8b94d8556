"""DeleteAcls, api 31: remove the access rules that match filters. Forwarded to the controller (SPEC F2).

1 brought pattern types (KIP-290), 3 the USER resource type (KIP-373).
"""

from __future__ import annotations

from signalbox.protocol.message import message

DeleteAclsRequest = message(
    __name__,
    """
    DeleteAclsRequest   api 31   versions 1-3   flexible 2+

    Filters               0+    []DeleteAclsFilter
      ResourceTypeFilter  0+    int8
      ResourceNameFilter  0+    string?
      PatternTypeFilter   1+    int8 = 3
      PrincipalFilter     0+    string?
      HostFilter          0+    string?
      Operation           0+    int8
      PermissionType      0+    int8
    """,
)

DeleteAclsResponse = message(
    __name__,
    """
    DeleteAclsResponse   api 31   versions 1-3   flexible 2+

    ThrottleTimeMs      0+    int32
    FilterResults       0+    []DeleteAclsFilterResult
      ErrorCode         0+    int16
      ErrorMessage      0+    string?
      MatchingAcls      0+    []DeleteAclsMatchingAcl
        ErrorCode       0+    int16
        ErrorMessage    0+    string?
        ResourceType    0+    int8
        ResourceName    0+    string
        PatternType     1+    int8 = 3
        Principal       0+    string
        Host            0+    string
        Operation       0+    int8
        PermissionType  0+    int8
    """,
)
