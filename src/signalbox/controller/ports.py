"""What the controller needs from other packages, as protocols. The wiring provides the implementations."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Protocol

from signalbox.common.endpoint import Endpoint
from signalbox.common.ids import ForwardingId
from signalbox.protocol.message import Message


class BrokerChannels(Protocol):
    """Ordered delivery to brokers, one request after the other, resent over new connections without limit until
    the broker is removed. Requests that are pending then are cancelled."""

    def add_broker(self, broker_id: int, endpoint: Endpoint) -> None:
        """Add a channel to `broker_id` at `endpoint`."""
        ...

    def remove_broker(self, broker_id: int) -> None:
        """Drop the broker's channel with everything queued in it."""
        ...

    def send(self, broker_id: int, request: Message) -> Awaitable[Message]:
        """Queue a request; its response. Cancelled when the broker is removed first."""
        ...


class BrokerProbe(Protocol):
    """Checks whether a broker whose connections closed is dead."""

    def confirm_dead(self, broker_id: int, endpoints: Sequence[Endpoint]) -> Awaitable[bool]:
        """Whether its addresses refuse connections, on more than one listener where it has several."""
        ...


class Requester(Protocol):
    """The requester, as far as the controller needs to know it: the id of a forwarded request, if it is one."""

    @property
    def forwarding_id(self) -> ForwardingId | None: ...


class PolicyViolation(Exception):
    """Raised by a policy to reject a request; the client gets the text."""


class CreateTopicPolicy(Protocol):
    """`create.topic.policy.class.name`: may reject a topic before it is created, in validate-only requests too."""

    def validate(
        self,
        topic: str,
        num_partitions: int | None,
        replication_factor: int | None,
        assignments: Mapping[int, Sequence[int]] | None,
        configs: Mapping[str, str],
    ) -> None:
        """Gets the sizes, or the assignment if the request has one. PolicyViolation to reject."""
        ...


class AlterConfigPolicy(Protocol):
    """`alter.config.policy.class.name`: may reject a change of configs."""

    def validate(self, resource_type: str, resource_name: str, configs: Mapping[str, str]) -> None:
        """Gets the full configs after the change. PolicyViolation to reject."""
        ...
