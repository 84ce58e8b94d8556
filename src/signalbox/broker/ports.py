"""Interfaces of the router and the handlers with more than one implementation; `wiring` passes them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from signalbox.broker.api_request import ApiRequest, FinalResponse
from signalbox.common.waiting.promise import Promise
from signalbox.protocol.error_table import Error
from signalbox.security.request_context import RequestContext


class ActiveController(Protocol):
    """The controller on this node, active or not."""

    @property
    def is_active(self) -> bool: ...

    async def handle(self, api_key: int, request: Any, context: RequestContext) -> Any:
        """The response message; KafkaError(NOT_CONTROLLER) when this node is not the active controller."""
        ...


class GroupTransactions(Protocol):
    """The group coordinator, for offsets that were committed in transactions (KIP-447)."""

    def transaction_rejection(self, partition: int) -> Error:
        """The error with which `complete_transaction` would be rejected now, or NONE."""
        ...

    def complete_transaction(
        self, partition: int, producer_id: int, producer_epoch: int, is_commit: bool
    ) -> Promise[Error]:
        """A marker of the producer is in `partition` of __consumer_offsets, which this broker leads, on all in-sync
        replicas. It may be repeated, and must be after an error."""
        ...


class CoordinatorChannels(Protocol):
    """Requests to other brokers, and to this one, over their inter-broker listeners."""

    def send(self, broker_id: int, request: Any, on_response: Callable[[Any], None]) -> None:
        """`on_response` gets the response, or the exception for which there is none; never before this returns."""
        ...


class Forwarder(Protocol):
    def forward(self, request: ApiRequest) -> Awaitable[FinalResponse]:
        """The active controller's response to a request that another broker received (KIP-590)."""
        ...
