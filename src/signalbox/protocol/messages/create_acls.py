"""CreateAcls, api 30: add access rules. Forwarded to the controller (SPEC F2).

1 brought pattern types (KIP-290), 3 the USER resource type (KIP-373).
"""

from __future__ import annotations

from signalbox.protocol.message import message

CreateAclsRequest = message(
    __name__,
    """
    CreateAclsRequest   api 30   versions 1-3   flexible 2+

    Creations              0+    []AclCreation
      ResourceType         0+    int8
      ResourceName         0+    string
      ResourcePatternType  1+    int8 = 3
      Principal            0+    string
      Host                 0+    string
      Operation            0+    int8
      PermissionType       0+    int8
    """,
)

CreateAclsResponse = message(
    __name__,
    """
    CreateAclsResponse   api 30   versions 1-3   flexible 2+

    ThrottleTimeMs  0+    int32
    Results         0+    []AclCreationResult
      ErrorCode     0+    int16
      ErrorMessage  0+    string?
    """,
)
