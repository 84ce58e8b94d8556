"""The topics that a group consumer wants: a list of names, or those that a pattern matches.

The groups of the classic protocol know no patterns: the member matches the names of all topics in Metadata itself, and
joins the group again when the matches change, after at most `metadata.max.age.ms`. As in the Java client, the whole
name must match, and internal topics never do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from signalbox.client.cluster_client import ClusterClient
from signalbox.client.group_consumer.group_settings import RebalanceListener
from signalbox.client.rejections import topic_rejection
from signalbox.protocol.error_table import Error


class Subscription:
    """Of one member. `topics`: the names, those that the pattern matched last."""

    def __init__(self, client: ClusterClient) -> None:
        self._client = client
        self._pattern: re.Pattern[str] | None = None
        self.topics: frozenset[str] = frozenset()
        self.listener = RebalanceListener()

    def set(self, topics: Iterable[str] | re.Pattern[str], listener: RebalanceListener | None) -> None:
        """Replace the subscription; TypeError for one name in place of a list of names."""
        if isinstance(topics, str):
            raise TypeError(f"subscribe to a list of topics, [{topics!r}], or to a compiled pattern")
        updater = self._client.metadata_updater
        self._pattern = topics if isinstance(topics, re.Pattern) else None
        self.topics = frozenset() if isinstance(topics, re.Pattern) else frozenset(topics)
        self.listener = listener or RebalanceListener()
        if self._pattern is not None:
            updater.request_all_topics()
            self.match()
        else:
            updater.request_named_topics()
            updater.refresh_soon(self.topics)

    def clear(self) -> None:
        """No topics."""
        self.set((), None)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is subscribed to. A pattern that matches no topic is a subscription."""
        return self._pattern is None and not self.topics

    def match(self) -> bool:
        """Match the topics of the newest Metadata with the pattern; whether `topics` changed."""
        if self._pattern is None or not self._client.metadata_updater.has_all_topics:
            return False
        matched = frozenset(
            name
            for name, topic in self._client.view.topics.items()
            if not topic.is_internal
            and topic.error_code != Error.UNKNOWN_TOPIC_OR_PARTITION
            and self._pattern.fullmatch(name)
        )
        changed, self.topics = matched != self.topics, matched
        return changed

    async def known(self, deadline: float) -> bool:
        """Whether the topics are known: a pattern needs Metadata of all topics, for which this waits until
        `deadline` (loop time)."""
        updater = self._client.metadata_updater
        if self._pattern is None or updater.has_all_topics:
            return True
        await updater.view_changed(deadline)
        self.match()
        return updater.has_all_topics

    def check(self) -> None:
        """RequestRejected when a topic has a final error. A topic that does not exist is waited for."""
        view = self._client.view.topics
        for topic in self.topics & view.keys():
            error = Error.of(view[topic].error_code)
            if error not in (Error.NONE, Error.UNKNOWN_SERVER_ERROR) and not error.retriable:
                raise topic_rejection(error, f"topic {topic}")
