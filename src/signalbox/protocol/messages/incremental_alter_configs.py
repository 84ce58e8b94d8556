"""IncrementalAlterConfigs, api 44: set, delete, append to or subtract from single settings (KIP-339).

Forwarded to the controller (SPEC F2).
"""

from __future__ import annotations

from signalbox.protocol.message import message

IncrementalAlterConfigsRequest = message(
    __name__,
    """
    IncrementalAlterConfigsRequest   api 44   versions 0-1   flexible 1+

    Resources            0+    []AlterConfigsResource
      ResourceType       0+    int8
      ResourceName       0+    string
      Configs            0+    []AlterableConfig
        Name             0+    string
        ConfigOperation  0+    int8
        Value            0+    string?
    ValidateOnly         0+    bool
    """,
)

IncrementalAlterConfigsResponse = message(
    __name__,
    """
    IncrementalAlterConfigsResponse   api 44   versions 0-1   flexible 1+

    ThrottleTimeMs  0+    int32
    Responses       0+    []AlterConfigsResourceResponse
      ErrorCode     0+    int16
      ErrorMessage  0+    string?
      ResourceType  0+    int8
      ResourceName  0+    string
    """,
)
