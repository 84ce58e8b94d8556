"""DescribeClientQuotas, api 48: quotas that match a filter of entity types (KIP-546).

A component with match type 0 is exact, 1 the default entity, 2 any named one.
"""

from __future__ import annotations

from signalbox.protocol.message import message

DescribeClientQuotasRequest = message(
    __name__,
    """
    DescribeClientQuotasRequest   api 48   versions 0-1   flexible 1+

    Components    0+    []ComponentData
      EntityType  0+    string
      MatchType   0+    int8
      Match       0+    string?
    Strict        0+    bool
    """,
)

DescribeClientQuotasResponse = message(
    __name__,
    """
    DescribeClientQuotasResponse   api 48   versions 0-1   flexible 1+

    ThrottleTimeMs  0+    int32
    ErrorCode       0+    int16
    ErrorMessage    0+    string?
    Entries         0+    []EntryData?
      Entity        0+    []EntityData
        EntityType  0+    string
        EntityName  0+    string?
      Values        0+    []ValueData
        Key         0+    string
        Value       0+    float64
    """,
)
