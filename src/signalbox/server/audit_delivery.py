"""Delivery of audit events to the audit topic, through Signalbox's own idempotent producer on the inter-broker
listener. The active controller creates the topic when it is missing; until the topic exists, events wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType

from signalbox.client.admin_apis.config_admin import ConfigAdmin
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.producer import Producer, ProducerSettings
from signalbox.client.sender.producer_batch import RecordMetadata
from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.protocol.error_table import KafkaError
from signalbox.server.audit_topic_limits import set_missing_limits
from signalbox.server.telemetry import Telemetry

NO_CONFIGS: Mapping[str, str] = MappingProxyType({})

# The timeout is seven days, so that the producer does not give up a batch: it is not known whether such a batch was
# written.
_DELIVERY_TIMEOUT_MS = 7 * 24 * 3_600_000


class AuditTopicMissing(RuntimeError):
    """The controller has not created the audit topic; the message gives the reason."""


class TopicDelivery:
    """Implements `broker/audit/audit_trail.AuditDelivery`. `topic_configs`: of a new audit topic, for the limits of an
    old one; empty on dedicated controllers, which leave the topic to the brokers."""

    def __init__(
        self,
        settings: Callable[[], ClientSettings],
        create_topic: Callable[[], Awaitable[tuple[int, str]]],
        scheduler: TaskScheduler,
        topic_configs: Mapping[str, str] = NO_CONFIGS,
    ) -> None:
        self._scheduler = scheduler
        self._settings = settings
        self._create_topic = create_topic
        self._topic_configs = topic_configs
        self._limits_task: asyncio.Task[None] | None = None
        self._client: ClusterClient | None = None
        self._producer: Producer | None = None

    async def deliver(self, key: bytes, values: Sequence[bytes]) -> Sequence[BaseException | None]:
        producer = self._producer or await self._open()
        results: list[BaseException | None] = []
        sent: dict[int, asyncio.Future[RecordMetadata]] = {}
        async for value in self._scheduler.yielding(values):
            try:
                sent[len(results)] = await producer.send(AUDIT_TOPIC, value, key)
                results.append(None)
            except KafkaError as error:
                results.append(error)
        await producer.flush()
        acknowledged = await asyncio.gather(*sent.values(), return_exceptions=True)
        for place, result in zip(sent, acknowledged, strict=True):
            results[place] = result if isinstance(result, BaseException) else None
        if self._limits_task is None and self._client is not None:
            self._limits_task = asyncio.create_task(set_missing_limits(ConfigAdmin(self._client), self._topic_configs))
        return results

    async def _open(self) -> Producer:
        code, message = await self._create_topic()
        if code:
            raise AuditTopicMissing(f"the audit topic cannot be created: {message or code}")
        self._client = ClusterClient(self._settings())
        self._client.start()
        producer = Producer(self._client, ProducerSettings(linger_ms=0, delivery_timeout_ms=_DELIVERY_TIMEOUT_MS))
        self._producer = await producer.__aenter__()
        return producer

    async def close(self) -> None:
        """Stop at once; events that are not acknowledged are lost (drain the audit trail first)."""
        if self._limits_task is not None:
            self._limits_task.cancel()
            await asyncio.wait([self._limits_task])
        if self._producer is not None:
            await self._producer.close()
        if self._client is not None:
            await self._client.close()


class AuditWriter:
    """`flush_connections` records the open roll-ups of the network. If `enabled` is False (signalbox.audit.enable),
    nothing is written."""

    def __init__(
        self, telemetry: Telemetry, delivery: TopicDelivery, enabled: bool, flush_connections: Callable[[], None]
    ) -> None:
        self.enabled = enabled
        self._telemetry = telemetry
        self._delivery = delivery
        self._flush_connections = flush_connections

    def flush_rollups(self) -> None:
        """Records the roll-ups whose window is over."""
        self._telemetry.rollups.flush()

    async def write(self, broker_epoch: int) -> None:
        """Writes events until it is cancelled; each has the broker epoch."""
        await self._telemetry.audit.write(broker_epoch, self._delivery)

    async def drain(self, timeout_s: float) -> None:
        """Waits until all events are written, at most `timeout_s` seconds."""
        if self.enabled:
            self._telemetry.rollups.flush()
            self._flush_connections()
            await self._telemetry.audit.drain(self._delivery, timeout_s)

    async def close(self) -> None:
        """Ends the delivery; events that are not written are lost."""
        await self._telemetry.audit.close()
        await self._delivery.close()
