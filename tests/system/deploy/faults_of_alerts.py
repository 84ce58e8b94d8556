"""The values with which each alert must be raised, in promtool's notation: 20 minutes as before, then the fault.

A series replaces the one of the healthy page with the same labels, or is added.
"""

from __future__ import annotations

from dataclasses import dataclass

_CONTROLLER = "kafka_controller_kafkacontroller_"
_REPLICAS = "kafka_server_replicamanager_"
_ADDRESS = 'signalbox_server_advertisedaddresses_state{broker_id="1",listener="CLIENT"}'
_WAITED = 'signalbox_network_requestchannel_{}_total{{plane="control"}}'


@dataclass(frozen=True, slots=True)
class Fault:
    """`also`: other alerts that the same values raise."""

    series: dict[str, str]
    also: tuple[str, ...] = ()


def _from(before: float, after: float) -> str:
    return f"{before}x20 {after}x20"


def _grows() -> str:
    return "0x28 1 2 3x20"


def _appears() -> str:
    return "_x28 1x20"


FAULTS: dict[str, Fault] = {
    "SignalboxNodeDown": Fault({"up": _from(1, 0)}),
    "SignalboxNoActiveController": Fault({f"{_CONTROLLER}activecontrollercount": _from(1, 0)}),
    "SignalboxSeveralActiveControllers": Fault({f"{_CONTROLLER}activecontrollercount": _from(1, 2)}),
    "SignalboxControllerUnknown": Fault({"signalbox_broker_forwardingmanager_activecontrollerid": _from(1, -1)}),
    "SignalboxPartitionsOffline": Fault({f"{_CONTROLLER}offlinepartitionscount": _from(0, 3)}),
    "SignalboxPartitionsUnderMinIsr": Fault({f"{_REPLICAS}underminisrpartitioncount": _from(0, 3)}),
    "SignalboxPartitionsUnderReplicated": Fault({f"{_REPLICAS}underreplicatedpartitions": _from(0, 3)}),
    "SignalboxUncleanLeaderElection": Fault(
        {"kafka_controller_controllerstats_uncleanleaderelections_total": _grows()}
    ),
    "SignalboxLogsLost": Fault({"signalbox_controller_elections_lostlogpartitioncount": _from(0, 1)}),
    "SignalboxElectionsWait": Fault({"signalbox_controller_elections_awaitedelectioncount": _from(0, 1)}),
    "SignalboxStoreFull": Fault({"signalbox_controller_metadatastore_storefullrejections_total": _grows()}),
    "SignalboxStoreEntriesCorrupt": Fault({"signalbox_controller_metadatastore_corruptentrycount": _from(0, 1)}),
    "SignalboxControllerQueueLong": Fault({"kafka_controller_controllereventmanager_eventqueuesize": _from(0, 5000)}),
    "SignalboxLogDirectoryOffline": Fault({"kafka_log_logmanager_offlinelogdirectorycount": _from(0, 1)}),
    "SignalboxReplicasCorrupt": Fault({"signalbox_replication_corruptlogs_corruptreplicas": _from(0, 1)}),
    "SignalboxAdvertisedAddressWrong": Fault({_ADDRESS: _from(0, 2)}),
    "SignalboxAdvertisedAddressNotVerified": Fault({_ADDRESS: _from(0, 1)}),
    "SignalboxConnectionsMisrouted": Fault(
        {'signalbox_network_socketserver_misroutedconnections_total{kind="node",listener="CLIENT"}': _appears()}
    ),
    "SignalboxRequestsWait": Fault(
        {_WAITED.format("requests"): "0+60x40", _WAITED.format("requestqueuetimems"): "0x20 12000+12000x20"}
    ),
    "SignalboxBrokerBusy": Fault(
        {"kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent": _from(0.9, 0.02)}
    ),
    "SignalboxConnectionsLeftInKernel": Fault(
        {'kafka_network_acceptor_acceptorblockedpercent{listener="CLIENT"}': _from(0, 0.9)}
    ),
    "SignalboxForwardingFails": Fault(
        {'signalbox_broker_forwardingmanager_forwardingfailures_total{error="TIMED_OUT"}': "_x20 1+5x20"}
    ),
    "SignalboxAuthenticationsFail": Fault(
        {
            'kafka_server_socket_server_metrics_failed_authentication_total{listener="CLIENT",networkProcessor="0"}': (
                "0x20 100+100x20"
            )
        }
    ),
    "SignalboxAuditEventsDropped": Fault({"signalbox_audit_audittrail_droppedevents_total": _grows()}),
    "SignalboxLogsNotCompacted": Fault(
        {'kafka_log_logcleanermanager_uncleanable_partitions_count{logDirectory="/data"}': _from(0, 1)}
    ),
    "SignalboxTransactionsLate": Fault({f"{_REPLICAS}partitionswithlatetransactionscount": _from(0, 1)}),
    "SignalboxFileDescriptorsShort": Fault({"process_open_fds": _from(50, 1e9)}),
}
