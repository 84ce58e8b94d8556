"""Keys of Kafka's server.properties that have no counterpart here: they are not misspelt, and have no effect.

A configuration that was written for Kafka is accepted, with a warning for each such key that gives the reason; every
other key that is not in a table is reported as unknown.
"""

from __future__ import annotations

from collections.abc import Mapping

_THREADS = "one event loop does the work, there are no threads to count"
_QUEUES = "connections are held back one by one, there is no bound for all"
_NO_RAFT = "there is no Raft quorum in this release"
_IDS = "every broker is given its id, none is generated"
_REVOKED = "revoked certificates of ZooKeeper are not looked up"

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
    "sasl.kerberos.service.name": "GSSAPI is not supported",
    "metric.reporters": "metrics are read from the page at signalbox.metrics.http.port",
}
