"""The metrics that Kafka does not have: groups `signalbox.<area>`."""

from __future__ import annotations

from signalbox.broker.metrics.metric_registry import Kind
from signalbox.server.metrics.metric_table.row import MetricRow, rows_of

_COUNTER, _GAUGE, _SUMMARY = Kind.COUNTER, Kind.GAUGE, Kind.SUMMARY
_ACTIVE = "0 off the active controller."

OWN_ROWS: tuple[MetricRow, ...] = (
    *rows_of(
        "signalbox.network", "Listener", _GAUGE, ("forced", "listener", "plane"),
        ("Info", "1", "A listener, its plane, and whether the control plane is forced on it."),
    ),
    *rows_of(
        "signalbox.network", "RequestChannel", _COUNTER, ("plane",),
        ("Requests", "requests", "Requests that arrived."),
        ("RequestQueueTimeMs", "ms", "What all requests together waited before a handler took them."),
    ),
    *rows_of(
        "signalbox.network", "RequestMetrics", _COUNTER, ("request",),
        ("ResponseBytes", "bytes", "Bytes of responses.", "a request of that name came"),
    ),
    *rows_of(
        "signalbox.network", "SocketServer", _GAUGE, ("plane",),
        ("Connections", "connections", "Open connections of a plane."),
    ),
    *rows_of(
        "signalbox.network", "SocketServer", _COUNTER, ("plane",),
        ("RejectedRequests", "requests", "Requests that their listener does not take; the connection was closed."),
        ("TimedOutConnections", "connections", "Connections closed because they were idle, stalled or never set up."),
    ),
    *rows_of(
        "signalbox.network", "SocketServer", _COUNTER, ("kind", "listener"),
        ("Rejections", "rejections", "Connections and requests rejected, by reason.", "something was rejected"),
        ("MisroutedConnections", "connections", "Connections that expected another node or cluster (KIP-1242).",
         "a connection was misrouted"),
    ),
    *rows_of(
        "signalbox.network", "SocketServer", _COUNTER, ("listener",),
        ("IdentityProbes", "requests", "Probes of `signalbox doctor` or of a broker with a node id that no node has.",
         "a probe came"),
    ),
    *rows_of(
        "signalbox.network", "SocketServer", _GAUGE, (),
        ("MemoryPoolIdle", "bytes", "Receive buffers kept for the next request."),
    ),
    *rows_of(
        "signalbox.network", "SocketServer", _SUMMARY, ("listener",),
        ("ReauthenticationTimeMs", "ms", "From SaslHandshake to the end of a re-authentication (KIP-368)."),
    ),
    *rows_of(
        "signalbox.transport", "EventLoop", _COUNTER, ("le",),
        ("PollGapUs", "polls", "Polls of the event loop that came at most `le` microseconds after the one before.",
         "`signalbox.data.plane.measure.polls` is on"),
    ),
    *rows_of(
        "signalbox.transport", "EventLoop", _GAUGE, (),
        ("PollGapLongestUs", "µs", "The longest time between two polls since the last scrape.",
         "`signalbox.data.plane.measure.polls` is on"),
    ),
    *rows_of(
        "signalbox.client", "ControllerChannel", _GAUGE, ("channel",),
        ("QueueLength", "requests", "Requests that wait to be sent to the controller."),
        ("RequestsInFlight", "requests", "Requests that the controller has not answered."),
    ),
    *rows_of(
        "signalbox.client", "ControllerChannel", _COUNTER, ("channel",),
        ("Requests", "requests", "Requests to the controller."),
        ("Retries", "requests", "Requests that were sent to the controller again."),
        ("Failures", "requests", "Requests that ended without a response of the controller."),
        ("MisroutedConnections", "connections", "Connections that reached another node than the controller meant."),
    ),
    *rows_of(
        "signalbox.client", "BrokerChannel", _COUNTER, ("broker_id",),
        ("MisroutedConnections", "connections", "Connections of the controller that reached another node than the"
         " broker meant.", "the node is the active controller"),
    ),
    *rows_of(
        "signalbox.broker", "ForwardingManager", _GAUGE, (),
        ("ActiveControllerId", "node id", "The active controller as this broker knows it; -1 when it knows none."),
        ("RequestsForwardingInFlight", "requests", "Forwarded requests without a response so far."),
    ),
    *rows_of(
        "signalbox.broker", "ForwardingManager", _COUNTER, ("error",),
        ("ForwardingFailures", "requests", "Forwarded requests that ended with this error.", "one failed"),
    ),
    *rows_of(
        "signalbox.server", "AdvertisedAddresses", _GAUGE, ("broker_id", "listener"),
        ("State", "state", "The node that responds at an advertised address: 0 the broker that advertises it, 1 not"
         " verified, 2 another node.", "the addresses were checked"),
    ),
    *rows_of(
        "signalbox.server", "AdvertisedAddresses", _COUNTER, (),
        ("Checks", "checks", "Probes of advertised addresses; addresses that were probed together count once."),
    ),
    *rows_of(
        "signalbox.audit", "AuditTrail", _COUNTER, (),
        ("WrittenEvents", "events", "Events written to the audit topic."),
        ("DroppedEvents", "events", "Events dropped because there were too many."),
    ),
    *rows_of(
        "signalbox.storage", "LogScrub", _COUNTER, (),
        ("BytesChecked", "bytes", "Bytes of logs whose checksums were checked again."),
        ("CorruptBatches", "batches", "Corrupt batches that the scrub found."),
        ("Passes", "passes", "Passes over all logs."),
    ),
    *rows_of(
        "signalbox.replication", "CorruptLogs", _GAUGE, (),
        ("CorruptReplicas", "replicas", "Replicas with a corrupt batch."),
    ),
    *rows_of(
        "signalbox.replication", "CorruptLogs", _COUNTER, (),
        ("CorruptBatchesFound", "batches", "Corrupt batches found, by the scrub or by a reader."),
        ("RebuiltReplicas", "replicas", "Replicas that were truncated and fetched again."),
    ),
    *rows_of(
        "signalbox.controller", "BrokerChannels", _SUMMARY, (),
        ("DecisionToLeaderAndIsrAppliedMs", "ms", "From a decision to each broker's response that it has applied its"
         " LeaderAndIsr."),
    ),
    *rows_of(
        "signalbox.controller", "Brokers", _GAUGE, (),
        ("ShuttingDownBrokerCount", "brokers", f"Brokers in controlled shutdown; {_ACTIVE}"),
    ),
    *rows_of(
        "signalbox.controller", "Elections", _GAUGE, (),
        ("AwaitedElectionCount", "partitions", "Partitions whose election waits for members of the ISR after an unclean"
         f" shutdown; {_ACTIVE}"),
        ("LostLogPartitionCount", "partitions", f"Partitions of which no member of the ISR has a log; {_ACTIVE}"),
    ),
    *rows_of(
        "signalbox.controller", "MetadataStore", _COUNTER, (),
        ("StoreFullRejections", "requests", "Requests rejected because the metadata store had no room."),
    ),
    *rows_of(
        "signalbox.controller", "MetadataStore", _GAUGE, (),
        ("StoreFullDeferredEvents", "events", "Events that wait for room in the metadata store."),
        ("CorruptEntryCount", "entries", f"Corrupt entries of the metadata store that are quarantined; {_ACTIVE}"),
    ),
)  # fmt: skip
