"""Keys of Kafka's server.properties that have no counterpart here: not misspelt, and nothing comes of them.

A configuration that was written for Kafka is taken over with a warning for each that says why; every other key that is
not in a table is called unknown.
"""

from __future__ import annotations

from collections.abc import Mapping

_THREADS = "one event loop does the work, there are no threads to count"
_QUEUES = "connections are held back one by one, there is no bound for all"
_NO_RAFT = "there is no Raft quorum in this release"
_IDS = "every broker is given its id, none is generated"
_REVOKED = "revoked certificates of ZooKeeper are not looked up"
_TRANSACTIONS = "there are no transactions in this release"

KEYS_OF_KAFKA: Mapping[str, str] = {
    "num.network.threads": _THREADS,
    "num.io.threads": _THREADS,
    "background.threads": _THREADS,
    "num.recovery.threads.per.data.dir": _THREADS,
    "num.replica.alter.log.dirs.threads": _THREADS,
    "queued.max.requests": _QUEUES,
    "queued.max.request.bytes": _QUEUES,
    "broker.id.generation.enable": _IDS,
    "reserved.broker.max.id": _IDS,
    "early.start.listeners": "every listener starts when the broker is registered",
    "controller.quorum.voters": _NO_RAFT,
    "controller.quorum.bootstrap.servers": _NO_RAFT,
    "zookeeper.metadata.migration.enable": _NO_RAFT,
    "zookeeper.clientCnxnSocket": "TLS towards ZooKeeper needs no class of Java's",
    "zookeeper.max.in.flight.requests": "requests to ZooKeeper are sent as they come",
    "zookeeper.ssl.crl.enable": _REVOKED,
    "zookeeper.ssl.ocsp.enable": _REVOKED,
    "transaction.state.log.replication.factor": _TRANSACTIONS,
    "transaction.state.log.min.isr": _TRANSACTIONS,
    "transaction.state.log.num.partitions": _TRANSACTIONS,
    "sasl.kerberos.service.name": "GSSAPI is not supported",
    "metric.reporters": "metrics are read from the page at metrics.http.port",
}
