"""Epochs of control requests are compared with the metadata store before the broker accepts them.

A broker remembers the highest controller epoch and the leader epoch of each partition, and rejects older ones. One
forged request with an epoch that is too high would make it reject the real controller from then on. So a controller
epoch above the highest seen, and a leader epoch above the next one, are first compared with the store: a controller
stores its epochs before it sends them. A request with a higher epoch than the stored one is rejected. If the store does
not respond, the request is rejected with a retriable error, and the controller retries it. Broker epochs are not
remembered from requests.

The usual LeaderAndIsr of an election or a new topic (the next leader epoch) needs no comparison; after a restart each
partition that was elected before needs one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from signalbox.broker.api_request import ApiRequest
from signalbox.common.clock import Clock
from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.ids import TopicPartition
from signalbox.common.log_limiter import LogLimiter
from signalbox.metadata.backup.stored_epochs import StoredEpochs
from signalbox.metadata.store.port import StoreError
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest

log = logging.getLogger(__name__)

STORE_TIMEOUT_S = 5.0
_NO_ENTRY: dict[TopicPartition, int] = {}


class LocalEpochs:
    """This broker's id and epoch, and the newest controller epoch of an accepted request. Each registration has a new
    broker epoch."""

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.broker_epoch = -1
        self.controller_epoch = -1
        self.on_broker_epoch: Callable[[int], None] = lambda epoch: None

    def registered(self, broker_epoch: int) -> None:
        """Called by the registrar after each registration."""
        self.broker_epoch = broker_epoch
        self.on_broker_epoch(broker_epoch)

    def accept_controller_epoch(self, controller_epoch: int) -> bool:
        """False if a newer controller epoch is known; otherwise the epoch is recorded."""
        if controller_epoch < self.controller_epoch:
            return False
        self.controller_epoch = controller_epoch
        return True


@dataclass(frozen=True, slots=True)
class UnverifiedEpochs:
    """The epochs of a request that must still be compared with the store; false when there are none."""

    controller_epoch: int | None = None
    leader_epochs: dict[TopicPartition, int] = field(default_factory=lambda: _NO_ENTRY)

    def __bool__(self) -> bool:
        return self.controller_epoch is not None or bool(self.leader_epochs)


_NOTHING_TO_VERIFY = UnverifiedEpochs()


class EpochChecks:
    """`leader_epoch_of` returns the leader epoch of a partition on this broker; -1 when it has none."""

    def __init__(
        self, own: LocalEpochs, stored: StoredEpochs, leader_epoch_of: Callable[[str, int], int], clock: Clock
    ) -> None:
        self._own = own
        self._stored = stored
        self._leader_epoch_of = leader_epoch_of
        self._limiter = LogLimiter(clock.monotonic)

    def epochs_to_verify(self, body: Any) -> UnverifiedEpochs:
        """The epochs that must be compared before the request is executed. Yields."""
        if self.is_stale(body):
            return _NOTHING_TO_VERIFY  # rejected when it is executed
        jumps = self._epochs_above_next(body) if isinstance(body, LeaderAndIsrRequest) else _NO_ENTRY
        if body.controller_epoch > self._own.controller_epoch:
            return UnverifiedEpochs(body.controller_epoch, jumps)
        return UnverifiedEpochs(None, jumps) if jumps else _NOTHING_TO_VERIFY

    def is_stale(self, body: Any) -> bool:
        """Whether the request has an older controller epoch, or is for an older registration of this broker."""
        return bool(
            body.controller_epoch < self._own.controller_epoch or -1 < body.broker_epoch < self._own.broker_epoch
        )

    async def verify(self, request: ApiRequest, epochs_to_verify: UnverifiedEpochs) -> Error:
        """NONE when the store has these epochs or higher ones; else the error: INVALID_REQUEST, UNKNOWN_LEADER_EPOCH,
        or REQUEST_TIMED_OUT when the store cannot be read."""
        try:
            async with asyncio.timeout(STORE_TIMEOUT_S):
                wrong = await self._contradicted(epochs_to_verify)
        except (StoreError, TimeoutError) as error:
            self._log(request, f"its epochs cannot be compared with the metadata store ({error or 'no answer'}): it "
                      "may be retried")  # fmt: skip
            return Error.REQUEST_TIMED_OUT
        if wrong is None:
            return Error.NONE
        text, code = wrong
        self._log(request, f"{text}: no controller has sent it. Authenticate brokers on the listener "
                  "(listener.security.protocol.map), or keep clients away from it")  # fmt: skip
        return code

    def _epochs_above_next(self, body: LeaderAndIsrRequest) -> dict[TopicPartition, int]:
        """Yields."""
        jumps: dict[TopicPartition, int] = {}
        for name, states in (
            (None, body.ungrouped_partition_states),
            *((topic.topic_name, topic.partition_states) for topic in body.topic_states),
        ):
            for state in states:
                yield_if_due()
                topic = state.topic_name if name is None else name
                if state.leader_epoch > self._leader_epoch_of(topic, state.partition_index) + 1:
                    jumps[TopicPartition(topic, state.partition_index)] = state.leader_epoch
        return jumps

    async def _contradicted(self, epochs_to_verify: UnverifiedEpochs) -> tuple[str, Error] | None:
        epoch = epochs_to_verify.controller_epoch
        if epoch is not None:
            stored = await self._stored.controller_epoch()
            if stored is not None and epoch > stored:
                return f"controller epoch {epoch} is above the stored {stored}", Error.INVALID_REQUEST
        leader_epochs = await self._stored.leader_epochs(epochs_to_verify.leader_epochs)
        for partition, stored in leader_epochs.items():
            leader_epoch = epochs_to_verify.leader_epochs[partition]
            if stored is not None and leader_epoch > stored:
                text = f"leader epoch {leader_epoch} of {partition} is above the stored {stored}"
                return text, Error.UNKNOWN_LEADER_EPOCH
        return None

    def _log(self, request: ApiRequest, reason: str) -> None:
        """Log at most once per interval and source: a sender may repeat its requests forever, and must not hide the
        lines about others."""
        context = request.context
        suppressed = self._limiter.admit(context.listener_name, context.client_address)
        if suppressed is None:
            return
        log.warning(
            "Control request with unproven epochs rejected (api=%s, listener=%s, client address=%s, principal=%s):"
            " %s%s",
            ApiKey(request.header.api_key).name,
            context.listener_name,
            context.client_address,
            context.principal,
            reason,
            suppressed,
        )
