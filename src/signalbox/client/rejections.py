"""Errors in a broker's response, as part of the client's exception tree: `RequestRejected` and its kinds.

Each is a ClientFailure and a KafkaError (`error`, `message`). `retriable` is that of Kafka's error code: the client
retries such a request until the deadline of the call. All other codes are final: the call ends at once.
"""

from __future__ import annotations

from signalbox.client.failures import ClientFailure, DeadlinePassed
from signalbox.protocol.error_table import Error, KafkaError


class RequestRejected(ClientFailure, KafkaError):
    """The broker's response has an error code. `error` is the code, `message` says what was rejected and why."""

    def __init__(self, error: Error, message: str | None = None) -> None:
        KafkaError.__init__(self, error, message)
        self.retriable = error.retriable


class AuthorizationFailed(RequestRejected):
    """The principal of the client has no ACL for the operation."""


class PolicyViolated(RequestRejected):
    """A policy of the cluster (`create.topic.policy.class.name`, `alter.config.policy.class.name`) rejects it."""


class InvalidTopic(RequestRejected):
    """The topic's name is invalid, or the topic may not be used like this."""


class UnknownTopic(RequestRejected):
    """The topic or partition does not exist, and the client does not create topics."""

    def __init__(self, error: Error, message: str | None = None) -> None:
        super().__init__(error, message)
        self.retriable = False  # raised only after the time that a new topic needs to reach every broker


class MemberFenced(RequestRejected):
    """Another member has joined the group with this member's `group.instance.id`."""


class CommitFailed(RequestRejected):
    """The member was no longer in its group, or a rebalance had begun, when it committed offsets."""

    def __init__(self, error: Error, message: str | None = None) -> None:
        super().__init__(error, message)
        self.retriable = False  # the partitions may belong to another member: poll first


class ProducerFenced(RequestRejected):
    """Another producer was initialized with this producer's transactional id, or its transaction has timed out: this
    producer can only be closed."""


_KINDS: dict[Error, type[RequestRejected]] = {
    Error.TOPIC_AUTHORIZATION_FAILED: AuthorizationFailed,
    Error.GROUP_AUTHORIZATION_FAILED: AuthorizationFailed,
    Error.CLUSTER_AUTHORIZATION_FAILED: AuthorizationFailed,
    Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: AuthorizationFailed,
    Error.DELEGATION_TOKEN_AUTHORIZATION_FAILED: AuthorizationFailed,
    Error.POLICY_VIOLATION: PolicyViolated,
    Error.INVALID_TOPIC_EXCEPTION: InvalidTopic,
    Error.FENCED_INSTANCE_ID: MemberFenced,
    Error.PRODUCER_FENCED: ProducerFenced,
}

_REASONS = {
    Error.TOPIC_AUTHORIZATION_FAILED: "the principal of this client needs an ACL on the topic, or a policy of the"
    " cluster rejects its creation",
    Error.POLICY_VIOLATION: "a policy of the cluster rejects the topic; the broker's log names the policy",
    Error.INVALID_TOPIC_EXCEPTION: "the topic name is invalid, or the topic is internal",
    Error.UNKNOWN_TOPIC_OR_PARTITION: "it does not exist, and allow.auto.create.topics is false",
}


def rejection_of(error: Error, message: str | None = None) -> RequestRejected:
    """The exception for an error code."""
    return _KINDS.get(error, RequestRejected)(error, message)


def topic_rejection(error: Error, subject: str) -> RequestRejected:
    """The exception for a topic or partition that is not available, with the reason in words."""
    message = f"{subject} is not available: {_REASONS.get(error, error.message)}"
    kind = UnknownTopic if error == Error.UNKNOWN_TOPIC_OR_PARTITION else _KINDS.get(error, RequestRejected)
    return kind(error, message)


def is_final(failure: Exception) -> bool:
    """Whether a retry with the same request cannot succeed. A deadline of one attempt that passed is not final."""
    if isinstance(failure, DeadlinePassed):
        return False
    if isinstance(failure, ClientFailure):
        return not failure.retriable
    return isinstance(failure, KafkaError) and not failure.error.retriable
