"""Heartbeat, api 12: a member of a classic group renews its session, and is notified of rebalances.

3 brought static members (KIP-345).
"""

from __future__ import annotations

from signalbox.protocol.message import message

HeartbeatRequest = message(
    __name__,
    """
    HeartbeatRequest   api 12   versions 0-4   flexible 4+

    GroupId          0+    string
    GenerationId     0+    int32
    MemberId         0+    string
    GroupInstanceId  3+    string? = null
    """,
)

HeartbeatResponse = message(
    __name__,
    """
    HeartbeatResponse   api 12   versions 0-4   flexible 4+

    ThrottleTimeMs  1+    int32     ignorable
    ErrorCode       0+    int16
    """,
)
