"""DescribeDelegationToken, api 41: the tokens that the asker may see (KIP-48).

Owners null = all. 3 returns the requester of each token (KIP-373).
"""

from __future__ import annotations

from signalbox.protocol.message import message

DescribeDelegationTokenRequest = message(
    __name__,
    """
    DescribeDelegationTokenRequest   api 41   versions 0-3   flexible 2+

    Owners           0+    []DescribeDelegationTokenOwner?
      PrincipalType  0+    string
      PrincipalName  0+    string
    """,
)

DescribeDelegationTokenResponse = message(
    __name__,
    """
    DescribeDelegationTokenResponse   api 41   versions 0-3   flexible 2+

    ErrorCode                      0+    int16
    Tokens                         0+    []DescribedDelegationToken
      PrincipalType                0+    string
      PrincipalName                0+    string
      TokenRequesterPrincipalType  3+    string
      TokenRequesterPrincipalName  3+    string
      IssueTimestamp               0+    int64
      ExpiryTimestamp              0+    int64
      MaxTimestamp                 0+    int64
      TokenId                      0+    string
      Hmac                         0+    bytes
      Renewers                     0+    []DescribedDelegationTokenRenewer
        PrincipalType              0+    string
        PrincipalName              0+    string
    ThrottleTimeMs                 0+    int32
    """,
)
