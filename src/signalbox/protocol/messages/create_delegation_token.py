"""CreateDelegationToken, api 38: a token that authenticates as a principal (KIP-48). Forwarded (SPEC F2).

3 lets one principal ask for a token of another (KIP-373).
"""

from __future__ import annotations

from signalbox.protocol.message import message

CreateDelegationTokenRequest = message(
    __name__,
    """
    CreateDelegationTokenRequest   api 38   versions 0-3   flexible 2+

    OwnerPrincipalType  3+    string?
    OwnerPrincipalName  3+    string?
    Renewers            0+    []CreatableRenewers
      PrincipalType     0+    string
      PrincipalName     0+    string
    MaxLifetimeMs       0+    int64
    """,
)

CreateDelegationTokenResponse = message(
    __name__,
    """
    CreateDelegationTokenResponse   api 38   versions 0-3   flexible 2+

    ErrorCode                    0+    int16
    PrincipalType                0+    string
    PrincipalName                0+    string
    TokenRequesterPrincipalType  3+    string
    TokenRequesterPrincipalName  3+    string
    IssueTimestampMs             0+    int64
    ExpiryTimestampMs            0+    int64
    MaxTimestampMs               0+    int64
    TokenId                      0+    string
    Hmac                         0+    bytes
    ThrottleTimeMs               0+    int32
    """,
)
