"""The table of checks, and their result in the order in which an operator should read it."""

from __future__ import annotations

from signalbox.doctor.checks import address_lint, certificates, client_options, clusters, connections, responses, routes
from signalbox.doctor.checks.about import ExaminationCheck, ListenerCheck
from signalbox.doctor.finding import Finding, Severity
from signalbox.doctor.observations import Examination

EXAMINATION_CHECKS: tuple[ExaminationCheck, ...] = (
    clusters.check_cluster_ids,
    clusters.check_missing_listeners,
    certificates.check_certificates,
)
LISTENER_CHECKS: tuple[ListenerCheck, ...] = (
    connections.check_reachable,
    clusters.check_metadata_contents,
    address_lint.check_destinations,
    address_lint.check_loopback,
    address_lint.check_networks,
    address_lint.check_duplicates,
    connections.check_names,
    connections.check_connections,
    routes.check_nodes,
    routes.check_bootstrap,
    routes.check_identity_versions,
    responses.check_metadata,
    responses.check_endpoints,
    responses.check_coordinators,
    responses.check_completeness,
    responses.check_own_configs,
    address_lint.check_names_of_networks,
    address_lint.check_container_addresses,
    client_options.check_pinned_cluster,
    client_options.check_recovery,
    client_options.check_identity,
)
_ORDER = (Severity.ERROR, Severity.UNKNOWN, Severity.NOTICE)


def find(examination: Examination) -> list[Finding]:
    """Every finding once: errors first, then what is unknown, then notices."""
    findings = [finding for check in EXAMINATION_CHECKS for finding in check(examination)]
    for listener in examination.listeners:
        findings += [finding for check in LISTENER_CHECKS for finding in check(listener)]
    return sorted(dict.fromkeys(findings), key=lambda finding: _ORDER.index(finding.severity))
