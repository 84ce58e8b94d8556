"""Controlled shutdown (KIP-291, C3): the controller moves leadership from this broker to others before it stops."""

from __future__ import annotations

import logging

from signalbox.client.inter_broker.controller_channel import ControllerChannel
from signalbox.configuration.configuration import NodeConfig
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.controlled_shutdown import ControlledShutdownRequest

log = logging.getLogger(__name__)

_REQUEST_TIMEOUT_MS = 10_000


async def move_leadership(
    config: NodeConfig, broker_epoch: int, channel: ControllerChannel, cache: MetadataCache
) -> None:
    """Ask the controller to move leadership to other brokers; give up after the configured retries."""
    request = ControlledShutdownRequest(broker_id=config.node_id, broker_epoch=broker_epoch)
    tries = config["controlled.shutdown.max.retries"]
    for attempt in range(tries + 1):
        try:
            response = await channel.request(request, _REQUEST_TIMEOUT_MS)
        except KafkaError as error:
            log.info("Controlled shutdown was not answered (try=%d): %s", attempt + 1, error)
        else:
            if response.error_code == Error.NONE and not response.remaining_partitions:
                log.info("leadership has moved away")
                return
            log.info(
                "Controlled shutdown goes on (try=%d, error=%s, partitions led here=%d)",
                attempt + 1,
                Error.of(response.error_code).name,
                len(response.remaining_partitions),
            )
        backoff_s = config["controlled.shutdown.retry.backoff.ms"] / 1000
        # If this is the only live broker, no other broker can take the leadership: waiting does not help.
        if await cache.wait_until(lambda image: len(image.brokers) <= 1, backoff_s if attempt < tries else 0):
            break
    if len(cache.image.brokers) <= 1:
        log.info("Controlled shutdown ended: no other broker is alive that could lead the partitions led here")
        return
    log.warning("Proceeding to an unclean shutdown (tries=%d): some partitions are still led here", tries + 1)
