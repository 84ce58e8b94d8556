"""The alert rules: the condition, for how long it must hold, how urgent it is, what it means and what to do.

`critical`: clients have errors, or records are in danger. `warning`: look at it within a day. A condition of counts
asks for growth in a window; a count that a page has only after its first event (`when` in the table of metrics) also
alerts when it is new on a node that was scraped before, because growth needs two values.
"""

from __future__ import annotations

from dataclasses import dataclass

from signalbox.server.monitoring.queries import JOB, series

_SELECTOR = f'job="{JOB}"'
_CLUSTER = "by (cluster)"


@dataclass(frozen=True, slots=True)
class Alert:
    """`meaning` may use the labels of the condition, as `{instance}`. `page`: the page of docs/ that helps."""

    name: str
    severity: str
    condition: str
    hold: str
    meaning: str
    action: str
    page: str


def _of(name: str, *more: str) -> str:
    return series(name, _SELECTOR, *more)


def _grew(name: str, window: str = "15m", by: str = "cluster, instance") -> str:
    return f"sum by ({by}) (increase({_of(name)}[{window}])) > 0"


def _grew_or_new(name: str, window: str, by: str) -> str:
    one = _of(name)
    new = f"sum by ({by}) ({one} unless {one} offset {window}) > 0"
    return f"{_grew(name, window, by)} or {new} and on (instance) up{{{_SELECTOR}}} offset {window} == 1"


def _mean_wait_ms(window: str) -> str:
    waited, requests = (
        f"sum by (cluster, instance, plane) (rate({_of(f'signalbox_network_requestchannel_{name}_total')}[{window}]))"
        for name in ("requestqueuetimems", "requests")
    )
    return f"{waited} / {requests}"


_CLUSTER_ALERTS = (
    Alert(
        "SignalboxNodeDown", "critical", f"up{{{_SELECTOR}}} == 0", "2m",
        "Node {instance} does not respond on its metrics port.",
        "Look at the end of its log, and start it again.", "troubleshooting.md",
    ),
    Alert(
        "SignalboxNoActiveController", "critical",
        f"sum {_CLUSTER} ({_of('kafka_controller_kafkacontroller_activecontrollercount')}) == 0", "1m",
        "No node is the active controller: no topic is changed, no leader is elected.",
        "Is the metadata store reachable and writable? Each node's log says why it does not become the controller.",
        "metadata-store.md",
    ),
    Alert(
        "SignalboxSeveralActiveControllers", "critical",
        f"sum {_CLUSTER} ({_of('kafka_controller_kafkacontroller_activecontrollercount')}) > 1", "1m",
        "{value} nodes say that they are the active controller.",
        "Do these nodes belong to one cluster? If so, restart the one whose controller epoch is lower.",
        "metadata-store.md",
    ),
    Alert(
        "SignalboxControllerUnknown", "critical",
        f"{_of('signalbox_broker_forwardingmanager_activecontrollerid')} == -1", "2m",
        "Broker {instance} knows no active controller: it cannot forward changes.",
        "Can it reach the controller's listener? `signalbox doctor` examines the addresses.", "listeners.md",
    ),
    Alert(
        "SignalboxPartitionsOffline", "critical",
        f"max {_CLUSTER} ({_of('kafka_controller_kafkacontroller_offlinepartitionscount')}) > 0", "1m",
        "{value} partitions have no leader.",
        "Start the brokers that have their replicas; `signalbox cluster describe` names the partitions.",
        "troubleshooting.md",
    ),
    Alert(
        "SignalboxPartitionsUnderMinIsr", "critical",
        f"sum {_CLUSTER} ({_of('kafka_server_replicamanager_underminisrpartitioncount')}) > 0", "1m",
        "{value} partitions have fewer replicas in sync than min.insync.replicas: producers with acks=all get errors.",
        "Start the brokers that are missing from the ISR.", "troubleshooting.md",
    ),
    Alert(
        "SignalboxPartitionsUnderReplicated", "warning",
        f"sum {_CLUSTER} ({_of('kafka_server_replicamanager_underreplicatedpartitions')}) > 0", "10m",
        "{value} partitions have a replica that is not in sync.",
        "Is a broker down, or does a follower fetch too slowly? Look at the follower's lag and log.",
        "troubleshooting.md",
    ),
    Alert(
        "SignalboxUncleanLeaderElection", "critical",
        _grew("kafka_controller_controllerstats_uncleanleaderelections_total"), "0m",
        "A replica that was not in sync became leader: acknowledged records may be lost.",
        "The controller's log names the partitions.", "troubleshooting.md",
    ),
    Alert(
        "SignalboxLogsLost", "critical",
        f"max {_CLUSTER} ({_of('signalbox_controller_elections_lostlogpartitioncount')}) > 0", "1m",
        "No replica in sync of {value} partitions has a log.",
        "Bring back the disks of these replicas, or decide for an unclean election.", "troubleshooting.md",
    ),
    Alert(
        "SignalboxElectionsWait", "warning",
        f"max {_CLUSTER} ({_of('signalbox_controller_elections_awaitedelectioncount')}) > 0", "5m",
        "The elections of {value} partitions wait for brokers that stopped uncleanly.",
        "Start these brokers.", "troubleshooting.md",
    ),
    Alert(
        "SignalboxStoreFull", "critical",
        f"{_grew('signalbox_controller_metadatastore_storefullrejections_total')} or"
        f" {_of('signalbox_controller_metadatastore_storefulldeferredevents')} > 0", "0m",
        "The metadata store has no room.", "Make room on its disk.", "metadata-store.md",
    ),
    Alert(
        "SignalboxStoreEntriesCorrupt", "warning",
        f"max {_CLUSTER} ({_of('signalbox_controller_metadatastore_corruptentrycount')}) > 0", "1m",
        "{value} entries of the metadata store are corrupt and quarantined.",
        "The controller's log names them.", "metadata-store.md",
    ),
    Alert(
        "SignalboxControllerQueueLong", "warning",
        f"{_of('kafka_controller_controllereventmanager_eventqueuesize')} > 1000", "5m",
        "{value} events wait for the controller.",
        "Is the metadata store slow, or does a client change metadata in a loop?", "dedicated-controllers.md",
    ),
)  # fmt: skip

_NODE_ALERTS = (
    Alert(
        "SignalboxLogDirectoryOffline", "critical",
        f"{_of('kafka_log_logmanager_offlinelogdirectorycount')} > 0", "0m",
        "{value} log directories of {instance} are offline.",
        "Repair or replace the disk, then restart the broker.", "troubleshooting.md",
    ),
    Alert(
        "SignalboxReplicasCorrupt", "warning",
        f"{_of('signalbox_replication_corruptlogs_corruptreplicas')} > 0", "5m",
        "{value} replicas on {instance} have a corrupt batch and were not rebuilt.",
        "The broker's log names partition and offset. Other replicas in sync have the records.", "troubleshooting.md",
    ),
    Alert(
        "SignalboxAdvertisedAddressWrong", "critical",
        f"{_of('signalbox_server_advertisedaddresses_state')} == 2", "1m",
        "The address that broker {broker_id} advertises on listener {listener} leads to another node.",
        "`/health` of {instance} has the address, the node behind it, and the key to change.", "listeners.md",
    ),
    Alert(
        "SignalboxAdvertisedAddressNotVerified", "warning",
        f"{_of('signalbox_server_advertisedaddresses_state')} == 1", "15m",
        "The address that broker {broker_id} advertises on listener {listener} could not be verified.",
        "`signalbox doctor` from a client's host says what is wrong.", "doctor/README.md",
    ),
    Alert(
        "SignalboxConnectionsMisrouted", "warning",
        _grew_or_new(
            "signalbox_network_socketserver_misroutedconnections_total", "15m", "cluster, instance, listener"
        ), "0m",
        "Connections that were meant for another node or cluster reached listener {listener} of {instance}.",
        "`signalbox audit tail --kind misrouted` shows who connected and what was expected, `signalbox doctor` examines"
        " the route.",
        "doctor/README.md",
    ),
    Alert(
        "SignalboxRequestsWait", "warning", f"{_mean_wait_ms('5m')} > 100", "10m",
        "Requests of plane {plane} wait {value} ms on {instance}.",
        "One thread serves them all: spread partitions over more brokers.", "sizing.md",
    ),
    Alert(
        "SignalboxBrokerBusy", "warning",
        f"{_of('kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent')} < 0.1", "15m",
        "The thread that serves requests on {instance} is idle for less than a tenth of the time.",
        "Spread partitions over more brokers.", "sizing.md",
    ),
    Alert(
        "SignalboxConnectionsLeftInKernel", "warning",
        f"{_of('kafka_network_acceptor_acceptorblockedpercent')} > 0.5", "10m",
        "{instance} does not accept connections of listener {listener} for more than half of the time.",
        "Do clients open a connection for each request?", "quotas.md",
    ),
    Alert(
        "SignalboxForwardingFails", "warning",
        _grew_or_new("signalbox_broker_forwardingmanager_forwardingfailures_total", "5m", "cluster, instance, error"),
        "10m", "Changes that {instance} forwards to the controller end with {error}.",
        "Can it reach the controller's listener, and has its principal CLUSTER_ACTION?", "troubleshooting.md",
    ),
    Alert(
        "SignalboxAuthenticationsFail", "warning",
        f"sum by (cluster, instance, listener)"
        f" (rate({_of('kafka_server_socket_server_metrics_failed_authentication_total')}[5m])) > 1", "10m",
        "More than one authentication a second fails on listener {listener} of {instance}.",
        "The audit trail has address and reason.", "authentication.md",
    ),
    Alert(
        "SignalboxAuditEventsDropped", "warning", _grew("signalbox_audit_audittrail_droppedevents_total"), "0m",
        "{instance} dropped audit events: the audit trail has a gap.",
        "Can it write to the audit topic?", "audit-trail.md",
    ),
    Alert(
        "SignalboxLogsNotCompacted", "warning",
        f"{_of('kafka_log_logcleanermanager_uncleanable_partitions_count')} > 0", "15m",
        "{value} partitions on {instance} cannot be compacted.", "The broker's log has the reason.",
        "troubleshooting.md",
    ),
    Alert(
        "SignalboxTransactionsLate", "warning",
        f"{_of('kafka_server_replicamanager_partitionswithlatetransactionscount')} > 0", "5m",
        "{value} partitions on {instance} have a transaction that is open for too long: consumers with read_committed"
        " wait.",
        "Find it with kafka-transactions.sh find-hanging --broker-id, and abort it.", "troubleshooting.md",
    ),
    Alert(
        "SignalboxFileDescriptorsShort", "warning",
        f"{_of('process_open_fds')} / {_of('process_max_fds')} > 0.8", "5m",
        "{instance} uses more than 80 % of its file descriptors.", "Raise `LimitNOFILE`, or limit connections.",
        "quotas.md",
    ),
)  # fmt: skip

ALERTS: tuple[Alert, ...] = (*_CLUSTER_ALERTS, *_NODE_ALERTS)
