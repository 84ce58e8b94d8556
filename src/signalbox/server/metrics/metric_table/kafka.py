"""The metrics that Kafka has too, under Kafka's names (its documentation, KIP-103, 227, 291, 368, 402, 511, 590,
966)."""

from __future__ import annotations

from signalbox.broker.metrics.metric_registry import Kind
from signalbox.server.metrics.metric_table.row import MetricRow, rows_of

_COUNTER, _GAUGE, _SUMMARY = Kind.COUNTER, Kind.GAUGE, Kind.SUMMARY
_LISTENER = ("listener", "networkProcessor")
_TOPIC, _PARTITION = ("topic",), ("partition", "topic")
_A_CONTROL_PLANE = "the node has a control plane listener"
_A_CONTROLLER_LISTENER = "the node has a listener of controllers"
_PLANES = (("", ""), ("ControlPlane", _A_CONTROL_PLANE), ("Controller", _A_CONTROLLER_LISTENER))
_ACTIVE = "0 off the active controller."
_A_PARTITION = "the broker hosts a partition"
_A_REQUEST = "a request of that name came"

_BROKER = [
    *rows_of(
        "kafka.server", "BrokerTopicMetrics", _COUNTER, _TOPIC,
        ("BytesInPerSec", "bytes", "Bytes of batches appended; without `topic` the sum over all topics, as in the rows"
         " below."),
        ("BytesOutPerSec", "bytes", "Bytes of batches sent to consumers."),
        ("BytesRejectedPerSec", "bytes", "Bytes of batches that were rejected because they are too large."),
        ("MessagesInPerSec", "records", "Records appended."),
        ("TotalProduceRequestsPerSec", "requests", "Produce requests, once per partition in them."),
        ("FailedProduceRequestsPerSec", "requests", "Produce requests, once per partition that got an error; errors of"
         " authorization are not among them."),
        ("TotalFetchRequestsPerSec", "requests", "Fetch requests, once per partition that was read."),
        ("FailedFetchRequestsPerSec", "requests", "Fetch requests, once per partition that got an error."),
    ),
    *rows_of(
        "kafka.server", "BrokerTopicMetrics", _COUNTER, (),
        ("ReplicationBytesInPerSec", "bytes", "Bytes of batches fetched from leaders."),
        ("ReplicationBytesOutPerSec", "bytes", "Bytes of batches sent to followers."),
    ),
    *rows_of(
        "kafka.server", "ReplicaManager", _GAUGE, (),
        ("PartitionCount", "partitions", "Partitions that this broker hosts."),
        ("LeaderCount", "partitions", "Partitions that this broker leads."),
        ("OfflineReplicaCount", "replicas", "Replicas whose log directory is offline."),
        ("UnderReplicatedPartitions", "partitions", "Partitions led here whose ISR lacks a replica."),
        ("UnderMinIsrPartitionCount", "partitions", "Partitions led here with fewer than min.insync.replicas in sync."),
        ("AtMinIsrPartitionCount", "partitions", "Partitions led here with just min.insync.replicas in sync."),
        ("ReassigningPartitions", "partitions", "Partitions led here whose replicas are being reassigned."),
        ("PartitionsWithLateTransactionsCount", "partitions", "Partitions led here with a transaction that is open for"
         " longer than transaction.max.timeout.ms and five minutes."),
        ("ProducerIdCount", "producer ids", "Producer ids in the logs of this broker, once per partition."),
    ),
    *rows_of(
        "kafka.server", "AddPartitionsToTxnManager", _COUNTER, (),
        ("VerificationFailureRate", "partitions", "Partitions of transactional Produce requests that their coordinator"
         " did not confirm."),
    ),
    *rows_of(
        "kafka.server", "AddPartitionsToTxnManager", _SUMMARY, (),
        ("VerificationTimeMs", "ms", "Requests to transaction coordinators, for these partitions."),
    ),
    *rows_of(
        "kafka.server", "ReplicaManager", _COUNTER, (),
        ("IsrShrinksPerSec", "proposals", "Proposals of a smaller ISR."),
        ("IsrExpandsPerSec", "proposals", "Proposals of a larger ISR."),
        ("FailedIsrUpdatesPerSec", "proposals", "Proposals that the controller rejected."),
    ),
    *rows_of(
        "kafka.server", "ReplicaFetcherManager", _GAUGE, ("clientId",),
        ("MaxLag", "records", "The most records that a follower here is behind its leader's high watermark."),
    ),
    *rows_of(
        "kafka.server", "DelayedOperationPurgatory", _GAUGE, ("delayedOperation",),
        ("PurgatorySize", "operations", "What waits: Produce (appends with acks=all, per partition), Fetch,"
         " DeleteRecords."),
    ),
    *rows_of(
        "kafka.server", "FetchSessionCache", _GAUGE, (),
        ("NumIncrementalFetchSessions", "sessions", "Fetch sessions."),
        ("NumIncrementalFetchPartitionsCached", "partitions", "Partitions in fetch sessions."),
    ),
    *rows_of(
        "kafka.server", "FetchSessionCache", _COUNTER, (),
        ("IncrementalFetchSessionEvictionsPerSec", "sessions", "Fetch sessions evicted for others."),
    ),
    *rows_of(
        "kafka.server", "ForwardingManager", _GAUGE, (),
        ("num-client-forwarding-to-controller-count", "clients", "Client ids with requests at the controller now."),
        ("num-client-forwarding-to-controller-rate", "clients/s", "How often a client id begins to wait for it."),
        ("num-messages-redirected-rate", "requests/s", "Requests forwarded, over the last half minute."),
    ),
    *rows_of(
        "kafka.server", "ForwardingManager", _COUNTER, (),
        ("num-messages-redirected-count", "requests", "Requests forwarded to the controller."),
        ("request-forwarding-to-controller-authorization-fail-count", "requests", "Forwarded requests that the"
         " controller rejected because this broker lacks CLUSTER_ACTION."),
    ),
    *rows_of(
        "kafka.server", "RequestMetrics", _COUNTER, ("clientId",),
        ("NumRequestsForwardingToControllerPerSec", "requests", "Requests forwarded, by client id; past 1,000 ids"
         " the others share `other`.", "a request was forwarded"),
    ),
    *rows_of(
        "kafka.cluster", "Partition", _GAUGE, _PARTITION,
        ("ReplicasCount", "replicas", "Replicas assigned; 0 off the leader, as in the rows below.", _A_PARTITION),
        ("InSyncReplicasCount", "replicas", "Replicas in the ISR.", _A_PARTITION),
        ("UnderReplicated", "0 or 1", "Whether the ISR lacks a replica.", _A_PARTITION),
        ("UnderMinIsr", "0 or 1", "Whether the ISR is below min.insync.replicas.", _A_PARTITION),
        ("AtMinIsr", "0 or 1", "Whether the ISR is at min.insync.replicas.", _A_PARTITION),
    ),
    *rows_of(
        "kafka.log", "Log", _GAUGE, _PARTITION,
        ("Size", "bytes", "Bytes of the log's segments.", _A_PARTITION),
        ("NumLogSegments", "segments", "Segments.", _A_PARTITION),
        ("LogStartOffset", "offset", "The first offset.", _A_PARTITION),
        ("LogEndOffset", "offset", "The offset that the next record gets.", _A_PARTITION),
    ),
    *rows_of(
        "kafka.log", "LogManager", _GAUGE, (),
        ("OfflineLogDirectoryCount", "directories", "Log directories that are offline."),
    ),
    *rows_of(
        "kafka.log", "LogManager", _GAUGE, ("logDirectory",),
        ("LogDirectoryOffline", "0 or 1", "Whether the directory is offline."),
    ),
    *rows_of(
        "kafka.log", "LogCleaner", _GAUGE, (),
        ("max-buffer-utilization-percent", "percent", "Memory for keys that the last round of compaction used."),
        ("cleaner-recopy-percent", "percent", "Bytes that the last round kept."),
        ("max-clean-time-secs", "seconds", "How long the last round took."),
        ("max-compaction-delay-secs", "seconds", "For how long records are uncompacted beyond"
         " max.compaction.lag.ms."),
    ),
    *rows_of(
        "kafka.log", "LogCleanerManager", _GAUGE, (),
        ("max-dirty-percent", "percent", "The dirty share of the dirtiest log."),
        ("time-since-last-run-ms", "ms", "Since the cleaner last looked for a log to compact."),
    ),
    *rows_of(
        "kafka.log", "LogCleanerManager", _GAUGE, ("logDirectory",),
        ("uncleanable-partitions-count", "partitions", "Partitions that cannot be compacted."),
        ("uncleanable-bytes", "bytes", "Dirty bytes of these partitions."),
    ),
    *rows_of(
        "kafka.coordinator.group", "GroupMetadataManager", _GAUGE, (),
        ("NumGroups", "groups", "Consumer groups that this broker coordinates."),
        ("NumOffsets", "offsets", "Committed offsets of these groups."),
        *((f"NumGroups{state}", "groups", f"Groups in state {state}.")
          for state in ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead")),
    ),
    *rows_of(
        "kafka.coordinator.transaction", "TransactionMarkerChannelManager", _GAUGE, (),
        ("UnknownDestinationQueueSize", "markers", "Transaction markers that wait because their partition has no"
         " leader."),
        ("LogAppendRetryQueueSize", "transactions", "Transactions whose last record could not be written and is written"
         " again."),
    ),
]  # fmt: skip

_NETWORK = [
    *rows_of(
        "kafka.network", "RequestMetrics", _COUNTER, ("request", "version"),
        ("RequestsPerSec", "requests", "Requests that ended. `request` is Kafka's name; a Fetch counts as Fetch, and as"
         " FetchConsumer or FetchFollower.", _A_REQUEST),
    ),
    *rows_of(
        "kafka.network", "RequestMetrics", _SUMMARY, ("request",),
        ("TotalTimeMs", "ms", "From the last byte of the request to its response in the connection's output.",
         _A_REQUEST),
        ("RequestQueueTimeMs", "ms", "What a request waited before a handler took it.", _A_REQUEST),
        ("RequestBytes", "bytes", "Sizes of requests: count and sum, without quantiles.", _A_REQUEST),
    ),
    *(row for prefix, when in _PLANES for row in (
        *rows_of(
            "kafka.network", "RequestChannel", _GAUGE, (),
            (f"{prefix}RequestQueueSize", "requests", "Requests that wait for a handler.", when),
            (f"{prefix}ResponseQueueSize", "responses", "Responses that wait to be sent.", when),
        ),
        *rows_of(
            "kafka.network", "SocketServer", _GAUGE, (),
            (f"{prefix}NetworkProcessorAvgIdlePercent", "share", "Idle share since the last scrape, 0 to 1.", when),
        ),
        *rows_of(
            "kafka.network", "SocketServer", _COUNTER, (),
            (f"{prefix}ExpiredConnectionsKilledCount", "connections", "Connections closed because their SASL session"
             " had ended.", when),
        ),
        *rows_of(
            "kafka.server", "KafkaRequestHandlerPool", _GAUGE, (),
            (f"{prefix}RequestHandlerAvgIdlePercent", "share", "Idle share since the last scrape, 0 to 1; the same"
             " thread as the network processor.", when),
        ),
        *rows_of(
            "kafka.network", "Acceptor", _GAUGE, ("listener",),
            (f"{prefix}AcceptorBlockedPercent", "share", "Share of the time since the last scrape in which new"
             " connections were left in the kernel.", when),
        ),
    )),
    *rows_of(
        "kafka.network", "SocketServer", _GAUGE, (),
        ("MemoryPoolAvailable", "bytes", "Kafka's value without queued.max.request.bytes, which is not bounded here."),
        ("MemoryPoolUsed", "bytes", "Receive buffers in use."),
    ),
    *rows_of(
        "kafka.server", "socket-server-metrics", _GAUGE, _LISTENER,
        ("connection-count", "connections", "Open connections of the listener."),
    ),
    *rows_of(
        "kafka.server", "socket-server-metrics", _COUNTER, _LISTENER,
        ("connection-creation-total", "connections", "Connections accepted."),
        ("connection-close-total", "connections", "Connections of these that are closed."),
        ("successful-authentication-total", "connections", "Authentications that succeeded, SASL or TLS."),
        ("failed-authentication-total", "connections", "Authentications that failed."),
        ("successful-authentication-no-reauth-total", "connections", "Authentications of clients that cannot"
         " re-authenticate."),
        ("successful-reauthentication-total", "connections", "Re-authentications that succeeded."),
        ("failed-reauthentication-total", "connections", "Re-authentications that failed."),
        ("expired-connections-killed-count", "connections", "Connections closed because their session had ended."),
    ),
    *rows_of(
        "kafka.server", "socket-server-metrics", _GAUGE, ("clientSoftwareName", "clientSoftwareVersion", *_LISTENER),
        ("connections", "connections", "Open connections by client software.", "a client is connected"),
    ),
    *rows_of(
        "kafka.server", "KafkaServer", _GAUGE, (),
        ("linux-disk-read-bytes", "bytes", "Bytes read from disks.", "the kernel counts them"),
        ("linux-disk-write-bytes", "bytes", "Bytes written to disks.", "the kernel counts them"),
    ),
]  # fmt: skip

_CONTROLLER = [
    *rows_of(
        "kafka.controller", "KafkaController", _GAUGE, (),
        ("ActiveControllerCount", "0 or 1", "Whether this node is the active controller."),
        ("OfflinePartitionsCount", "partitions", f"Partitions without a leader; {_ACTIVE}"),
        ("PreferredReplicaImbalanceCount", "partitions", f"Partitions not led by their preferred replica; {_ACTIVE}"),
        ("GlobalTopicCount", "topics", f"Topics of the cluster; {_ACTIVE}"),
        ("GlobalPartitionCount", "partitions", f"Partitions of the cluster; {_ACTIVE}"),
        ("TopicsToDeleteCount", "topics", f"Topics being deleted; {_ACTIVE}"),
        ("ReplicasToDeleteCount", "replicas", f"Replicas being deleted; {_ACTIVE}"),
        ("ActiveBrokerCount", "brokers", f"Registered brokers; {_ACTIVE}"),
    ),
    *rows_of(
        "kafka.controller", "ControllerEventManager", _GAUGE, (),
        ("EventQueueSize", "events", "Events that wait for the controller."),
    ),
    *rows_of(
        "kafka.controller", "ControllerStats", _COUNTER, (),
        ("UncleanLeaderElectionsPerSec", "elections", "Unclean leader elections that this node made."),
    ),
    *rows_of(
        "kafka.controller", "ControllerChannelManager", _GAUGE, (),
        ("TotalQueueSize", "requests", "Control requests that wait to be sent to brokers."),
    ),
    *rows_of(
        "kafka.controller", "ControllerChannelManager", _GAUGE, ("broker_id",),
        ("QueueSize", "requests", "Control requests that wait to be sent to a broker.",
         "the node is the active controller"),
    ),
]  # fmt: skip

KAFKA_ROWS: tuple[MetricRow, ...] = (*_BROKER, *_NETWORK, *_CONTROLLER)
