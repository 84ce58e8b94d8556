"""LeaderAndIsr (4), StopReplica (5), UpdateMetadata (6): the controller tells this broker what it hosts and what is.
Versions 0-7, 0-4, 0-8.

Each needs CLUSTER_ACTION. The broker epoch is checked first (smaller than our own is STALE_BROKER_EPOCH, -1 is not
checked), the controller epoch next; what a stale one is answered with differs per API. They are carried out one after
the other (`broker/control_turns.py`), and judged when it is their turn.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Protocol

from signalbox.broker.api_request import Answer, ApiRequest, FinalAnswer, ResponseMessage
from signalbox.broker.cluster_action import require_cluster_action
from signalbox.broker.control_turns import ControlTurns
from signalbox.broker.error_responses import failure
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error
from signalbox.replication.leadership import refuse_leader_and_isr
from signalbox.security.authorizer import Authorizer

log = logging.getLogger(__name__)


class BrokerEpochs(Protocol):
    """What this broker knows of its own life and of the controller's."""

    @property
    def broker_epoch(self) -> int: ...

    def accept_controller_epoch(self, controller_epoch: int) -> bool:
        """False when a newer controller has spoken; otherwise the epoch is remembered."""
        ...


class ControlRequestHandler:
    """One of the three; `apply` does it, given the request and its version, and gives the response."""

    def __init__(
        self, authorizer: Authorizer, epochs: BrokerEpochs, turns: ControlTurns, apply: Callable[[Any, int], Any]
    ) -> None:
        self._authorizer = authorizer
        self._epochs = epochs
        self._turns = turns
        self._apply = apply

    def __call__(self, request: ApiRequest) -> Answer:
        require_cluster_action(self._authorizer, request.context)
        return self._turns.take(lambda: self._carried_out(request))

    def _carried_out(self, request: ApiRequest) -> FinalAnswer:
        body = request.body
        if body.broker_epoch != -1 and body.broker_epoch < self._epochs.broker_epoch:
            return _refused(request, Error.STALE_BROKER_EPOCH)
        if not self._epochs.accept_controller_epoch(body.controller_epoch):
            return _refused(request, Error.STALE_CONTROLLER_EPOCH)
        try:
            answer: FinalAnswer = self._apply(body, request.header.api_version)
        except Exception:
            log.exception("%s failed", request.header.api_key)
            return failure(request, Error.UNKNOWN_SERVER_ERROR)
        return answer


def _refused(request: ApiRequest, error: Error) -> ResponseMessage:
    if request.header.api_key == ApiKey.LEADER_AND_ISR:
        # The only one that repeats the error for every partition.
        return refuse_leader_and_isr(request.body, request.header.api_version, error)
    refused: ResponseMessage = API_TABLE[request.header.api_key].response(error_code=error)
    return refused
