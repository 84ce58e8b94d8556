"""A rule for requests that pass a line: which requests it takes, and what happens to them."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.headers import RequestHeader

if TYPE_CHECKING:
    from signalbox.testing.wire.response_edits import Versions
    from signalbox.testing.wire.topic_entries import TopicNames

LOG_LENGTH = 10_000


class RuleAction(Enum):
    """What happens to a request that a rule takes."""

    ERROR = "error"
    """The client gets an error; the broker does not get the request."""
    DELAY = "delay"
    """The response arrives later."""
    STALL = "stall"
    """The broker handles the request; neither its response nor a later one of the connection arrives."""
    DROP = "drop"
    """The broker does not get the request, and no later response of the connection arrives."""
    THROTTLE = "throttle"
    """The response has a throttle time."""
    CUT_BEFORE = "cut before"
    """The connection is cut, and the broker does not get the request."""
    CUT_AFTER = "cut after"
    """The broker handles the request; the connection is cut in place of its response."""


@dataclass(slots=True)
class RequestRule:
    """Takes the requests of `api` with the numbers `first` to `first + times - 1` (all from `first` on if `times` is
    None), counted from 1 over all connections; `client_id` and `topic` restrict what is counted. An error for a topic
    is for its entries only. `taken` counts its requests."""

    action: RuleAction
    api: ApiKey
    error: Error = Error.NONE
    delay_ms: float = 0.0
    throttle_ms: int = 0
    first: int = 1
    times: int | None = 1
    client_id: str | None = None
    topic: str | None = None
    seen: int = 0
    taken: int = 0

    def takes(self, header: RequestHeader, topics: Collection[str] = ()) -> bool:
        """Whether the rule takes the request, which is about these topics; counts it."""
        if header.api_key != self.api or self.client_id not in (None, header.client_id):
            return False
        if self.topic is not None and self.topic not in topics:
            return False
        self.seen += 1
        if self.seen < self.first or (self.times is not None and self.seen >= self.first + self.times):
            return False
        self.taken += 1
        return True


@dataclass(frozen=True, slots=True)
class PresentedIdentity:
    """The node that a line pretends to lead to: another cluster id or node id in ApiVersions is a misroute. None leaves
    that half out of the comparison. With `client_id` it is the node of this client only."""

    cluster_id: str | None = None
    node_id: int | None = None
    client_id: str | None = None

    def accepts(self, cluster_id: str, node_id: int) -> bool:
        """Whether a client that expects these ids is at the right node."""
        return self.cluster_id in (None, cluster_id) and self.node_id in (None, node_id)


@dataclass(frozen=True, slots=True)
class VersionLimit:
    """The lowest and the highest version of an API that a line lets through, for one client or for all."""

    lowest: int
    highest: int
    client_id: str | None = None


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """A request that passed a line: its API, version and client id; the identity that an ApiVersions request had."""

    line: str
    api: ApiKey
    version: int
    client_id: str | None
    cluster_id: str | None = None
    node_id: int | None = None


@dataclass(slots=True)
class LineRules:
    """The rules of a line, for all its connections, open ones too. `versions` are the limits of
    the versions of APIs. `log` has the last requests, `topic_names` the names of topic ids."""

    rules: list[RequestRule] = field(default_factory=list)
    identity: PresentedIdentity | None = None
    versions: dict[ApiKey, VersionLimit] = field(default_factory=dict)
    topic_names: TopicNames = field(default_factory=dict)
    log: deque[SeenRequest] = field(default_factory=lambda: deque(maxlen=LOG_LENGTH))

    def rule_for(self, header: RequestHeader, topics: Collection[str] = ()) -> RequestRule | None:
        """The first rule that takes the request; all rules count it."""
        taking: Iterator[RequestRule] = iter([rule for rule in self.rules if rule.takes(header, topics)])
        return next(taking, None)

    def reads_topics_of(self, api: int) -> bool:
        """Whether a rule asks for the topics of such requests."""
        return any(rule.api == api and rule.topic is not None for rule in self.rules)

    def versions_for(self, header: RequestHeader) -> dict[ApiKey, Versions]:
        """The limits that the client of a request has."""
        limits = [(api, limit) for api, limit in self.versions.items() if limit.client_id in (None, header.client_id)]
        return {api: (limit.lowest, limit.highest) for api, limit in limits}

    def lets_through(self, header: RequestHeader) -> bool:
        """Whether the version of a request is within the limits of its API."""
        lowest, highest = self.versions_for(header).get(ApiKey(header.api_key), (0, header.api_version))
        return lowest <= header.api_version <= highest
