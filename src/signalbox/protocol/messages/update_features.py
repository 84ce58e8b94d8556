"""UpdateFeatures, api 57: raise or lower the cluster's feature levels (KIP-584). Forwarded (SPEC F2).

1 brought upgrade types and validate-only, 2 answers only at the top level.
"""

from __future__ import annotations

from signalbox.protocol.message import message

UpdateFeaturesRequest = message(
    __name__,
    """
    UpdateFeaturesRequest   api 57   versions 0-2   flexible 0+

    timeoutMs          0+    int32 = 60000
    FeatureUpdates     0+    []FeatureUpdateKey
      Feature          0+    string
      MaxVersionLevel  0+    int16
      AllowDowngrade   0     bool
      UpgradeType      1+    int8 = 1
    ValidateOnly       1+    bool
    """,
)

UpdateFeaturesResponse = message(
    __name__,
    """
    UpdateFeaturesResponse   api 57   versions 0-2   flexible 0+

    ThrottleTimeMs  0+    int32
    ErrorCode       0+    int16
    ErrorMessage    0+    string?
    Results         0-1   []UpdatableFeatureResult  ignorable
      Feature       0+    string
      ErrorCode     0+    int16
      ErrorMessage  0+    string?
    """,
)
