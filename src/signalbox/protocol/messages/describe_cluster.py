"""DescribeCluster, api 60: cluster id, controller and brokers (KIP-700).

1 distinguishes brokers and controllers (KIP-919), 2 can include fenced brokers (KIP-1073).
"""

from __future__ import annotations

from signalbox.protocol.message import message

DescribeClusterRequest = message(
    __name__,
    """
    DescribeClusterRequest   api 60   versions 0-2   flexible 0+

    IncludeClusterAuthorizedOperations  0+    bool
    EndpointType                        1+    int8 = 1
    IncludeFencedBrokers                2+    bool
    """,
)

DescribeClusterResponse = message(
    __name__,
    """
    DescribeClusterResponse   api 60   versions 0-2   flexible 0+

    ThrottleTimeMs               0+    int32
    ErrorCode                    0+    int16
    ErrorMessage                 0+    string? = null
    EndpointType                 1+    int8 = 1
    ClusterId                    0+    string
    ControllerId                 0+    int32 = -1
    Brokers                      0+    []DescribeClusterBroker
      BrokerId                   0+    int32
      Host                       0+    string
      Port                       0+    int32
      Rack                       0+    string? = null
      IsFenced                   2+    bool
    ClusterAuthorizedOperations  0+    int32 = -2147483648
    """,
)
