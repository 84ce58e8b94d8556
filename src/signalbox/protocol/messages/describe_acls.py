"""DescribeAcls, api 29: access rules that match a filter.

1 brought pattern types (KIP-290), 3 the USER resource type (KIP-373).
"""

from __future__ import annotations

from signalbox.protocol.message import message

DescribeAclsRequest = message(
    __name__,
    """
    DescribeAclsRequest   api 29   versions 1-3   flexible 2+

    ResourceTypeFilter  0+    int8
    ResourceNameFilter  0+    string?
    PatternTypeFilter   1+    int8 = 3
    PrincipalFilter     0+    string?
    HostFilter          0+    string?
    Operation           0+    int8
    PermissionType      0+    int8
    """,
)

DescribeAclsResponse = message(
    __name__,
    """
    DescribeAclsResponse   api 29   versions 1-3   flexible 2+

    ThrottleTimeMs      0+    int32
    ErrorCode           0+    int16
    ErrorMessage        0+    string?
    Resources           0+    []DescribeAclsResource
      ResourceType      0+    int8
      ResourceName      0+    string
      PatternType       1+    int8 = 3
      Acls              0+    []AclDescription
        Principal       0+    string
        Host            0+    string
        Operation       0+    int8
        PermissionType  0+    int8
    """,
)
