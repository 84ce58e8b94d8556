"""DescribeUserScramCredentials, api 50: users and mechanisms of SCRAM credentials, never the secrets (KIP-554).

Users null or empty = all.
"""

from __future__ import annotations

from signalbox.protocol.message import message

DescribeUserScramCredentialsRequest = message(
    __name__,
    """
    DescribeUserScramCredentialsRequest   api 50   versions 0   flexible 0+

    Users       0+    []UserName?
      Name      0+    string
    """,
)

DescribeUserScramCredentialsResponse = message(
    __name__,
    """
    DescribeUserScramCredentialsResponse   api 50   versions 0   flexible 0+

    ThrottleTimeMs     0+    int32
    ErrorCode          0+    int16
    ErrorMessage       0+    string?
    Results            0+    []DescribeUserScramCredentialsResult
      User             0+    string
      ErrorCode        0+    int16
      ErrorMessage     0+    string?
      CredentialInfos  0+    []CredentialInfo
        Mechanism      0+    int8
        Iterations     0+    int32
    """,
)
