"""FindCoordinator, api 10: which broker coordinates a group (0), a transactional id (1) or a share group (2).

The address is that of the asked listener (SPEC L10). 4 brought several keys in one request (KIP-699), 6 share
groups.
"""

from __future__ import annotations

from signalbox.protocol.message import message

FindCoordinatorRequest = message(
    __name__,
    """
    FindCoordinatorRequest   api 10   versions 0-6   flexible 3+

    Key              0-3   string
    KeyType          1+    int8
    CoordinatorKeys  4+    []string
    """,
)

FindCoordinatorResponse = message(
    __name__,
    """
    FindCoordinatorResponse   api 10   versions 0-6   flexible 3+

    ThrottleTimeMs  1+    int32          ignorable
    ErrorCode       0-3   int16
    ErrorMessage    1-3   string?        ignorable
    NodeId          0-3   int32
    Host            0-3   string
    Port            0-3   int32
    Coordinators    4+    []Coordinator
      Key           4+    string
      NodeId        4+    int32
      Host          4+    string
      Port          4+    int32
      ErrorCode     4+    int16
      ErrorMessage  4+    string?        ignorable
    """,
)
