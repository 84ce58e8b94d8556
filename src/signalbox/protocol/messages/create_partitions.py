"""CreatePartitions, api 37: raise a topic's partition count (KIP-195). Forwarded (SPEC F2).

3 can return THROTTLING_QUOTA_EXCEEDED (KIP-599).
"""

from __future__ import annotations

from signalbox.protocol.message import message

CreatePartitionsRequest = message(
    __name__,
    """
    CreatePartitionsRequest   api 37   versions 0-3   flexible 2+

    Topics         0+    []CreatePartitionsTopic
      Name         0+    string
      Count        0+    int32
      Assignments  0+    []CreatePartitionsAssignment?
        BrokerIds  0+    []int32
    TimeoutMs      0+    int32
    ValidateOnly   0+    bool
    """,
)

CreatePartitionsResponse = message(
    __name__,
    """
    CreatePartitionsResponse   api 37   versions 0-3   flexible 2+

    ThrottleTimeMs  0+    int32
    Results         0+    []CreatePartitionsTopicResult
      Name          0+    string
      ErrorCode     0+    int16
      ErrorMessage  0+    string? = null
    """,
)
