"""Changes of address states in the log and in the audit trail, and the states as metrics. Each change is reported once;
an address that stays as it is causes no line, however often it is checked."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

from signalbox.client.connection.node import Identity
from signalbox.common.audit_event import AuditEvent, AuditKind, AuditSink
from signalbox.common.metrics import MetricName, Metrics
from signalbox.server.advertised.address_states import AddressKey, AddressState, RouteState

log = logging.getLogger(__name__)

_STATE = MetricName("signalbox.server", "AdvertisedAddresses", "State")
_CHECKS = MetricName("signalbox.server", "AdvertisedAddresses", "Checks")


class AddressReports:
    """`states` are those of the last check."""

    def __init__(self, identity: Identity, metrics: Metrics, audit: AuditSink) -> None:
        self._identity = identity
        self._audit = audit
        self._checks = metrics.counter(_CHECKS)
        self.states: Mapping[AddressKey, AddressState] = {}
        metrics.gauges(_STATE, self._rows)

    def checked(self, states: Mapping[AddressKey, AddressState]) -> None:
        """Replace the states, and report those that have changed. An address for whose state there is another reason
        than before has not changed, nor has one that is not checked any more."""
        before, self.states = self.states, states
        self._checks.add()
        for key, state in states.items():
            previous = before.get(key)
            if previous is not None and _conclusion(previous) == _conclusion(state):
                continue
            if previous is None and state.state is RouteState.VERIFIED and not state.code:
                continue  # an address that is as it should be from the beginning
            self._record(state)
            self._log(state)

    def forget(self) -> None:
        """No address is checked any more."""
        self.states = {}

    def _rows(self) -> Iterator[tuple[Mapping[str, str], float]]:
        for (node_id, listener), state in self.states.items():
            yield {"broker_id": str(node_id), "listener": listener}, state.state

    def _log(self, state: AddressState) -> None:
        where = (state.listener, state.node_id, state.address)
        if state.state is RouteState.WRONG:
            remedy = f": set {state.key} to {state.value}" if state.key and state.value else ""
            log.warning(
                "Advertised address leads to another node (listener=%s, broker=%d, address=%s, code=%s): %s%s",
                *where,
                state.code,
                state.text,
                remedy,
            )
        elif state.state is RouteState.UNVERIFIED:
            log.info(
                "Advertised address not verified (listener=%s, broker=%d, address=%s, code=%s): %s",
                *where,
                state.code,
                state.text,
            )
        else:
            log.info("Advertised address verified (listener=%s, broker=%d, address=%s)%s", *where, _detail(state))

    def _record(self, state: AddressState) -> None:
        cluster_id = self._identity.cluster_id
        self._audit.record(
            AuditEvent(
                kind=AuditKind.ADVERTISED_ADDRESS,
                listener=state.listener,
                resource=state.address,
                target_node=state.node_id,
                error=state.code,
                reason=f"{state.state.name.lower()}: {state.text}" if state.text else state.state.name.lower(),
                expected=f"{cluster_id}/{state.node_id}",
                actual=state.actual,
            )
        )


def _conclusion(state: AddressState) -> tuple[RouteState, str, str]:
    """What a report says. The code of a wrong or unverified address varies with what else is seen or how it fails."""
    is_verified = state.state is RouteState.VERIFIED
    return state.state, state.address, state.code if is_verified else state.actual


def _detail(state: AddressState) -> str:
    return f": {state.code}, {state.text}" if state.code else ""
