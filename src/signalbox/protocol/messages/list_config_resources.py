"""ListConfigResources, api 74: resources that have settings (KIP-1142).

Version 0 listed client metrics subscriptions alone, under the name ListClientMetricsResources.
"""

from __future__ import annotations

from signalbox.protocol.message import message

ListConfigResourcesRequest = message(
    __name__,
    """
    ListConfigResourcesRequest   api 74   versions 0-1   flexible 0+

    ResourceTypes  1+    []int8
    """,
)

ListConfigResourcesResponse = message(
    __name__,
    """
    ListConfigResourcesResponse   api 74   versions 0-1   flexible 0+

    ThrottleTimeMs   0+    int32
    ErrorCode        0+    int16
    ConfigResources  0+    []ConfigResource
      ResourceName   0+    string
      ResourceType   1+    int8 = 16         ignorable
    """,
)
