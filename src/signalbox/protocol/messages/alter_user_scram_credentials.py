"""AlterUserScramCredentials, api 51: write and delete SCRAM credentials (KIP-554). Forwarded (SPEC F2).

The password comes salted: the broker never sees it.
"""

from __future__ import annotations

from signalbox.protocol.message import message

AlterUserScramCredentialsRequest = message(
    __name__,
    """
    AlterUserScramCredentialsRequest   api 51   versions 0   flexible 0+

    Deletions         0+    []ScramCredentialDeletion
      Name            0+    string
      Mechanism       0+    int8
    Upsertions        0+    []ScramCredentialUpsertion
      Name            0+    string
      Mechanism       0+    int8
      Iterations      0+    int32
      Salt            0+    bytes
      SaltedPassword  0+    bytes
    """,
)

AlterUserScramCredentialsResponse = message(
    __name__,
    """
    AlterUserScramCredentialsResponse   api 51   versions 0   flexible 0+

    ThrottleTimeMs  0+    int32
    Results         0+    []AlterUserScramCredentialsResult
      User          0+    string
      ErrorCode     0+    int16
      ErrorMessage  0+    string?
    """,
)
