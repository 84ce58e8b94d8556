"""ApiVersions, api 18: the API versions of this broker; the first request of every modern client.

Its answer always has response header 0, and a version that the broker does not know is answered in version 0 with
UNSUPPORTED_VERSION. 3 brought the client's software (KIP-511) and the cluster's features, 4 features whose lowest
version is 0, 5 the cluster and node that the client means to connect to (KIP-1242, SPEC R1).
"""

from __future__ import annotations

from signalbox.protocol.message import message

ApiVersionsRequest = message(
    __name__,
    """
    ApiVersionsRequest   api 18   versions 0-5   flexible 3+

    ClientSoftwareName     3+    string          ignorable
    ClientSoftwareVersion  3+    string          ignorable
    ClusterId              5+    string? = null  ignorable
    NodeId                 5+    int32 = -1      ignorable
    """,
)

ApiVersionsResponse = message(
    __name__,
    """
    ApiVersionsResponse   api 18   versions 0-5   flexible 3+

    ErrorCode               0+    int16
    ApiKeys                 0+    []ApiVersion
      ApiKey                0+    int16
      MinVersion            0+    int16
      MaxVersion            0+    int16
    ThrottleTimeMs          1+    int32                  ignorable
    SupportedFeatures       3+    []SupportedFeatureKey  tag 0 ignorable
      Name                  3+    string
      MinVersion            3+    int16
      MaxVersion            3+    int16
    FinalizedFeaturesEpoch  3+    int64 = -1             tag 1 ignorable
    FinalizedFeatures       3+    []FinalizedFeatureKey  tag 2 ignorable
      Name                  3+    string
      MaxVersionLevel       3+    int16
      MinVersionLevel       3+    int16
    ZkMigrationReady        3+    bool                   tag 3 ignorable
    """,
)
