"""AlterConfigs, api 33: replace all settings of a resource at once (superseded by api 44).

Forwarded to the controller (SPEC F2).
"""

from __future__ import annotations

from signalbox.protocol.message import message

AlterConfigsRequest = message(
    __name__,
    """
    AlterConfigsRequest   api 33   versions 0-2   flexible 2+

    Resources       0+    []AlterConfigsResource
      ResourceType  0+    int8
      ResourceName  0+    string
      Configs       0+    []AlterableConfig
        Name        0+    string
        Value       0+    string?
    ValidateOnly    0+    bool
    """,
)

AlterConfigsResponse = message(
    __name__,
    """
    AlterConfigsResponse   api 33   versions 0-2   flexible 2+

    ThrottleTimeMs  0+    int32
    Responses       0+    []AlterConfigsResourceResponse
      ErrorCode     0+    int16
      ErrorMessage  0+    string?
      ResourceType  0+    int8
      ResourceName  0+    string
    """,
)
