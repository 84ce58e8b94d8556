"""A broker's copy of the cluster's metadata, updated by the controller's UpdateMetadata requests. Finalized features,
which these do not contain, come from the store.

A request takes `cache.image` once and keeps it; replication, which needs one fact at a time, asks the cache. Code that
acts on changes subscribes; code that waits for a change uses `wait_until`, which costs nothing between changes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from signalbox.common.ids import TopicPartition
from signalbox.metadata.delta import apply_update_metadata
from signalbox.metadata.entries.feature_levels import FinalizedFeatures
from signalbox.metadata.image import EMPTY_IMAGE, NO_CONTROLLER, MetadataImage
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest

log = logging.getLogger(__name__)


class ImageListener(Protocol):
    """Called after the cache has a new image; `changed_topics` are the topics that the controller's request named."""

    def __call__(self, old: MetadataImage, new: MetadataImage, changed_topics: set[str]) -> None: ...


class MetadataCache:
    """The current image and its listeners."""

    def __init__(self) -> None:
        self.image: MetadataImage = EMPTY_IMAGE
        self._listeners: list[ImageListener] = []

    def apply_update_metadata(self, request: UpdateMetadataRequest) -> None:
        """Apply one UpdateMetadata request. The caller checks the epochs."""
        old = self.image
        new, changed_topics = apply_update_metadata(old, request)
        self._warn_of_uneven_listeners(old, new)
        self._take(new, changed_topics)

    def apply_features(self, features: FinalizedFeatures) -> None:
        """Apply the features that are finalized now."""
        old = self.image
        controller = (old.controller_id, old.controller_epoch)
        self._take(MetadataImage(old.brokers, old.topics, old.topic_names, controller, old.stamp + 1, features), set())

    def _take(self, new: MetadataImage, changed_topics: set[str]) -> None:
        old, self.image = self.image, new
        for listener in list(self._listeners):
            try:
                listener(old, new, changed_topics)
            except Exception:
                log.exception("Listener of the metadata cache failed")

    def forget(self) -> None:
        """Discard all brokers and topics: metadata from an earlier controller epoch may be out of date."""
        old = self.image
        self._take(MetadataImage({}, {}, {}, (NO_CONTROLLER, 0), old.stamp + 1, old.features), set())

    def is_alive(self, broker_id: int) -> bool:
        """Whether the broker is registered (and so can join an ISR or be a leader to fetch from)."""
        return self.image.is_alive(broker_id)

    def topic_name(self, topic_id: bytes) -> str | None:
        return self.image.topic_name(topic_id)

    def leader_of(self, topic_partition: TopicPartition) -> tuple[int, int] | None:
        """(leader id or -1, leader epoch); None if the cluster does not have the partition."""
        partition = self.image.partition(*topic_partition)
        return None if partition is None else (partition.leader, partition.leader_epoch)

    def subscribe(self, listener: ImageListener) -> Callable[[], None]:
        """Call `listener` after every change, until the returned function is called."""
        self._listeners.append(listener)

        def cancel() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return cancel

    async def wait_until(self, holds: Callable[[MetadataImage], bool], timeout_s: float) -> bool:
        """Wait until `holds(image)`; False after `timeout_s`."""
        if holds(self.image):
            return True
        reached = asyncio.get_running_loop().create_future()

        def look(old: MetadataImage, new: MetadataImage, changed_topics: set[str]) -> None:
            if not reached.done() and holds(new):
                reached.set_result(None)

        cancel = self.subscribe(look)
        try:
            async with asyncio.timeout(timeout_s):
                await reached
        except TimeoutError:
            return False
        finally:
            cancel()
        return True

    def _warn_of_uneven_listeners(self, old: MetadataImage, new: MetadataImage) -> None:
        sets = {frozenset(broker.endpoints) for broker in new.brokers.values()}
        if len(sets) > 1 and {frozenset(broker.endpoints) for broker in old.brokers.values()} != sets:
            named = {broker_id: sorted(broker.endpoints) for broker_id, broker in sorted(new.brokers.items())}
            log.error("Listeners are not identical across brokers: %s", named)
