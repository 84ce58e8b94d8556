"""DeleteTopics, api 20: delete topics, by name or from 6 on by id (KIP-516).

5 brought an error message, and THROTTLING_QUOTA_EXCEEDED (KIP-599).
"""

from __future__ import annotations

from signalbox.protocol.message import message

DeleteTopicsRequest = message(
    __name__,
    """
    DeleteTopicsRequest   api 20   versions 1-6   flexible 4+

    Topics      6+    []DeleteTopicState
      Name      6+    string? = null
      TopicId   6+    uuid
    TopicNames  0-5   []string            ignorable
    TimeoutMs   0+    int32
    """,
)

DeleteTopicsResponse = message(
    __name__,
    """
    DeleteTopicsResponse   api 20   versions 1-6   flexible 4+

    ThrottleTimeMs  1+    int32                   ignorable
    Responses       0+    []DeletableTopicResult
      Name          0+    string?6+
      TopicId       6+    uuid                    ignorable
      ErrorCode     0+    int16
      ErrorMessage  5+    string? = null          ignorable
    """,
)
