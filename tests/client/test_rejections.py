from __future__ import annotations

import pytest

from signalbox.client.connection.node import Address
from signalbox.client.failures import (
    AuthenticationRejected,
    ChannelClosed,
    ClientFailure,
    ConnectionLost,
    DeadlinePassed,
)
from signalbox.client.rejections import (
    AuthorizationFailed,
    InvalidTopic,
    MemberFenced,
    PolicyViolated,
    ProducerFenced,
    RequestRejected,
    UnknownTopic,
    is_final,
    rejection_of,
    topic_rejection,
)
from signalbox.protocol.error_table import Error, KafkaError


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Error.TOPIC_AUTHORIZATION_FAILED, AuthorizationFailed),
        (Error.GROUP_AUTHORIZATION_FAILED, AuthorizationFailed),
        (Error.CLUSTER_AUTHORIZATION_FAILED, AuthorizationFailed),
        (Error.POLICY_VIOLATION, PolicyViolated),
        (Error.INVALID_TOPIC_EXCEPTION, InvalidTopic),
        (Error.FENCED_INSTANCE_ID, MemberFenced),
        (Error.PRODUCER_FENCED, ProducerFenced),
        (Error.INVALID_CONFIG, RequestRejected),
        (Error.COORDINATOR_NOT_AVAILABLE, RequestRejected),
    ],
)
def test_each_code_has_its_exception_in_the_one_tree(error: Error, kind: type[RequestRejected]) -> None:
    rejection = rejection_of(error, "wide")
    assert type(rejection) is kind
    assert isinstance(rejection, ClientFailure)
    assert isinstance(rejection, KafkaError)
    assert (rejection.error, rejection.message, str(rejection)) == (error, "wide", f"{error.name}: wide")
    assert rejection.retriable is error.retriable


def test_without_a_message_the_code_has_its_own_sentence() -> None:
    assert rejection_of(Error.INVALID_CONFIG).message == "A configuration value is invalid."


def test_a_topic_rejection_says_why_in_words() -> None:
    policy = topic_rejection(Error.POLICY_VIOLATION, "topic wide")
    assert isinstance(policy, PolicyViolated)
    assert "topic wide is not available: a policy of the cluster rejects" in str(policy)
    unknown = topic_rejection(Error.UNKNOWN_TOPIC_OR_PARTITION, "topic t")
    assert isinstance(unknown, UnknownTopic)
    assert not unknown.retriable
    assert "allow.auto.create.topics is false" in str(unknown)


def test_what_is_final() -> None:
    address = Address("h", 1)
    assert is_final(AuthenticationRejected(address, "no"))
    assert is_final(ChannelClosed("closed"))
    assert is_final(rejection_of(Error.TOPIC_AUTHORIZATION_FAILED))
    assert is_final(KafkaError(Error.INVALID_REQUEST))
    assert not is_final(rejection_of(Error.NOT_COORDINATOR))
    assert not is_final(ConnectionLost(address, "reset"))
    assert not is_final(DeadlinePassed("one attempt"))
    assert not is_final(ValueError("of another library"))
