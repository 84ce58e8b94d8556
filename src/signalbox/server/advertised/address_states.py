"""What a broker concludes about each address: the doctor's findings, and one of three states.

Only a node of Kafka that is not the expected one makes an address WRONG. Everything else that prevents the proof (no
name, no route, no connection, a certificate, an old broker) leaves it UNVERIFIED: a load balancer that does not forward
yet, or a network in which a node cannot reach itself by its public address, are no misroutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from signalbox.common.ids import Grade
from signalbox.doctor.checks import certificates, connections, routes
from signalbox.doctor.checks.about import ListenerCheck
from signalbox.doctor.finding import Finding, Severity
from signalbox.doctor.observations import AddressObservation, ConnectionObservation, Examination, ListenerObservation

_CHECKS: tuple[ListenerCheck, ...] = (routes.check_nodes, connections.check_names, connections.check_connections)
_ORDER = (Severity.ERROR, Severity.UNKNOWN, Severity.NOTICE)


class RouteState(IntEnum):
    """Which node responds at an address; the values of the metric."""

    VERIFIED = 0
    UNVERIFIED = 1
    WRONG = 2


AddressKey = tuple[int, str]
"""Node id and listener name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressState:
    """`code` and `text` are those of the doctor's finding, "" without one; `key` and `value` are what to change.
    `actual` is the node that responds as `cluster/node`, "" if it is unknown or the expected one."""

    node_id: int
    listener: str
    address: str
    state: RouteState
    code: str = ""
    text: str = ""
    key: str = ""
    value: str = ""
    actual: str = ""


def states_of(examination: Examination) -> dict[AddressKey, AddressState]:
    """The state of each address that was probed."""
    findings = sorted(_findings(examination), key=lambda finding: _ORDER.index(finding.severity))
    by_key: dict[AddressKey, Finding] = {}
    for finding in findings:
        by_key.setdefault((finding.node_id, finding.listener), finding)
    return {
        (row.node_id, listener.bootstrap): _state(listener, row, by_key.get((row.node_id, listener.bootstrap)))
        for listener in examination.listeners
        for row in listener.addresses
    }


def _findings(examination: Examination) -> Iterator[Finding]:
    for listener in examination.listeners:
        for check in _CHECKS:
            yield from check(listener)
    yield from certificates.check_certificates(examination)


def _state(listener: ListenerObservation, row: AddressObservation, finding: Finding | None) -> AddressState:
    wrong = next((one for one in row.usable if _is_other(row, one)), None)
    if wrong is not None:
        state = RouteState.WRONG
    else:
        state = RouteState.VERIFIED if row.answering == (row.node_id,) else RouteState.UNVERIFIED
    actual = f"{wrong.cluster_id}/{wrong.node_id}" if wrong is not None and wrong.node_id >= 0 else ""
    result = AddressState(
        node_id=row.node_id, listener=listener.bootstrap, address=row.address, state=state, actual=actual
    )
    return result if finding is None else _with_finding(result, finding)


def _with_finding(state: AddressState, finding: Finding) -> AddressState:
    return AddressState(
        node_id=state.node_id,
        listener=state.listener,
        address=state.address,
        state=state.state,
        actual=state.actual,
        code=finding.code,
        text=finding.text,
        key=finding.key,
        value=finding.value,
    )


def _is_other(row: AddressObservation, connection: ConnectionObservation) -> bool:
    """Whether a node of Kafka responded that is not the expected one. A node that was found by a search was preceded
    by one that rejected the expected identity."""
    is_other_cluster = connection.cluster_id not in ("", row.cluster_id)
    is_other_node = connection.node_id >= 0 and connection.node_id != row.node_id
    return is_other_cluster or is_other_node or connection.grade in (Grade.REJECTED, Grade.SEARCHED)
