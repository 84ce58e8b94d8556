"""AlterClientQuotas, api 49: set or remove quotas (KIP-546). Forwarded (SPEC F2).

A null entity name is the default entity.
"""

from __future__ import annotations

from signalbox.protocol.message import message

AlterClientQuotasRequest = message(
    __name__,
    """
    AlterClientQuotasRequest   api 49   versions 0-1   flexible 1+

    Entries         0+    []EntryData
      Entity        0+    []EntityData
        EntityType  0+    string
        EntityName  0+    string?
      Ops           0+    []OpData
        Key         0+    string
        Value       0+    float64
        Remove      0+    bool
    ValidateOnly    0+    bool
    """,
)

AlterClientQuotasResponse = message(
    __name__,
    """
    AlterClientQuotasResponse   api 49   versions 0-1   flexible 1+

    ThrottleTimeMs  0+    int32
    Entries         0+    []EntryData
      ErrorCode     0+    int16
      ErrorMessage  0+    string?
      Entity        0+    []EntityData
        EntityType  0+    string
        EntityName  0+    string?
    """,
)
