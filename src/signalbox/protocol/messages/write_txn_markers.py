"""WriteTxnMarkers, api 27: the transaction coordinator has leaders write commit or abort markers.

Between brokers only. 2 brought the transaction version (KIP-1228).
"""

from __future__ import annotations

from signalbox.protocol.message import message

WriteTxnMarkersRequest = message(
    __name__,
    """
    WriteTxnMarkersRequest   api 27   versions 1-2   flexible 1+

    Markers               0+    []WritableTxnMarker
      ProducerId          0+    int64
      ProducerEpoch       0+    int16
      TransactionResult   0+    bool
      Topics              0+    []WritableTxnMarkerTopic
        Name              0+    string
        PartitionIndexes  0+    []int32
      CoordinatorEpoch    0+    int32
      TransactionVersion  2+    int8                      ignorable
    """,
)

WriteTxnMarkersResponse = message(
    __name__,
    """
    WriteTxnMarkersResponse   api 27   versions 1-2   flexible 1+

    Markers               0+    []WritableTxnMarkerResult
      ProducerId          0+    int64
      Topics              0+    []WritableTxnMarkerTopicResult
        Name              0+    string
        Partitions        0+    []WritableTxnMarkerPartitionResult
          PartitionIndex  0+    int32
          ErrorCode       0+    int16
    """,
)
