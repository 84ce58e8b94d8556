"""ControlledShutdown, api 7: a broker asks the controller to move its leaderships away before it stops.

Version 0 has a request header without client id, the only such case. 2 brought the broker epoch. Sent
over the control plane when there is one (SPEC C3).
"""

from __future__ import annotations

from signalbox.protocol.message import message

ControlledShutdownRequest = message(
    __name__,
    """
    ControlledShutdownRequest   api 7   versions 0-3   flexible 3+

    BrokerId     0+    int32
    BrokerEpoch  2+    int64 = -1  ignorable
    """,
)

ControlledShutdownResponse = message(
    __name__,
    """
    ControlledShutdownResponse   api 7   versions 0-3   flexible 3+

    ErrorCode            0+    int16
    RemainingPartitions  0+    []RemainingPartition
      TopicName          0+    string
      PartitionIndex     0+    int32
    """,
)
