"""What the controller needs from its neighbours, in its own words. Wiring plugs them in."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Protocol

from signalbox.common.endpoint import Endpoint
from signalbox.common.forwarding_id import ForwardingId
from signalbox.protocol.message import Message


class BrokerChannels(Protocol):
    """Ordered delivery to brokers: one request in flight per broker, resent over new connections for ever, until
    the broker is removed. What is pending then is cancelled."""

    def add_broker(self, broker_id: int, endpoint: Endpoint) -> None:
        """From now on `broker_id` is reached at `endpoint`."""
        ...

    def remove_broker(self, broker_id: int) -> None:
        """Drop the broker's channel with everything queued in it."""
        ...

    def send(self, broker_id: int, request: Message) -> Awaitable[Message]:
        """Queue a request; its response. Cancelled when the broker is removed first."""
        ...


class BrokerProbe(Protocol):
    """Finds out whether a broker whose connections closed is really gone."""

    def confirm_dead(self, broker_id: int, endpoints: Sequence[Endpoint]) -> Awaitable[bool]:
        """Whether its addresses refuse connections, on more than one listener where it has several."""
        ...


class Requester(Protocol):
    """Whoever asks, as far as the controller cares: which forwarded request this is, if it is one."""

    @property
    def forwarding_id(self) -> ForwardingId | None: ...


class PolicyViolation(Exception):
    """Raised by a policy to refuse; the text reaches the client."""


class CreateTopicPolicy(Protocol):
    """`create.topic.policy.class.name`: may refuse a topic before it is made, for validate-only requests too."""

    def validate(
        self,
        topic: str,
        num_partitions: int | None,
        replication_factor: int | None,
        assignments: Mapping[int, Sequence[int]] | None,
        configs: Mapping[str, str],
    ) -> None:
        """Sizes, or the assignment when that was given. PolicyViolation to refuse."""
        ...


class AlterConfigPolicy(Protocol):
    """`alter.config.policy.class.name`: may refuse a change of configs."""

    def validate(self, resource_type: str, resource_name: str, configs: Mapping[str, str]) -> None:
        """The full configs as they would be. PolicyViolation to refuse."""
        ...
