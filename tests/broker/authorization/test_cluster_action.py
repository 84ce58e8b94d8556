"""CLUSTER_ACTION: a principal with this right may act as a broker."""

from __future__ import annotations

import pytest

from signalbox.broker.authorization.broker_principals import BrokerPrincipalRule
from signalbox.broker.authorization.cluster_action import (
    acts_as_broker,
    acts_as_replica,
    may_act_on_cluster,
    require_cluster_action,
)
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.security.authorizer import Authorizer
from signalbox.security.request_context import RequestContext
from tests.broker.handler_requests import ALLOW_ALL, acl, context


def test_only_with_the_right() -> None:
    authorizer = acl(("broker", "CLUSTER_ACTION", "cluster"), ("alice", "ALTER", "cluster"))
    require_cluster_action(authorizer, context("broker", "REPLICATION", inter_broker=True))
    assert not may_act_on_cluster(authorizer, context("alice"))
    with pytest.raises(KafkaError, match="User:alice has no CLUSTER_ACTION") as rejected:
        require_cluster_action(authorizer, context("alice", "REPLICATION", inter_broker=True))
    assert rejected.value.error is Error.CLUSTER_AUTHORIZATION_FAILED


@pytest.mark.parametrize("broker_listener", ["inter_broker", "control_plane", "privileged"])
def test_only_on_internal_listeners(broker_listener: str) -> None:
    require_cluster_action(ALLOW_ALL, context("broker", "INTERNAL", **{broker_listener: True}))
    with pytest.raises(KafkaError, match="not accepted on listener CLIENT") as rejected:
        require_cluster_action(ALLOW_ALL, context("broker", "CLIENT"))
    assert rejected.value.error is Error.CLUSTER_AUTHORIZATION_FAILED


def rule(authorizer: Authorizer) -> BrokerPrincipalRule:
    """A rule that has seen `broker` act as a broker."""
    made = BrokerPrincipalRule(authorizer)
    assert acts_as_broker(made, context("broker", "REPLICATION", inter_broker=True))
    return made


def anonymous(listener: str, **flags: bool) -> RequestContext:
    return context("ANONYMOUS", listener, **flags)


@pytest.mark.spec("L12", "F15")
@pytest.mark.parametrize("listener", ["CLIENT", "FORMER"])
@pytest.mark.parametrize(
    ("authorizer", "principal", "while_rolled"),
    [
        (rule(ALLOW_ALL), "broker", True),
        (rule(ALLOW_ALL), "alice", False),
        (rule(acl(("broker", "CLUSTER_ACTION", "cluster"))), "broker", True),
        (rule(acl(("broker", "CLUSTER_ACTION", "cluster"))), "alice", False),
        # A broker that was just restarted knows no principals yet; its authorizer does.
        (BrokerPrincipalRule(acl(("broker", "CLUSTER_ACTION", "cluster"))), "broker", True),
        (acl(("broker", "CLUSTER_ACTION", "cluster")), "broker", True),
        (ALLOW_ALL, "broker", False),
        (rule(ALLOW_ALL), "ANONYMOUS", False),
        (acl(("ANONYMOUS", "CLUSTER_ACTION", "cluster"), ("x", "ALTER", "cluster")), "ANONYMOUS", False),
    ],
)
def test_on_another_listener_a_broker_principal_is_accepted_while_brokers_use_it(
    authorizer: Authorizer, principal: str, while_rolled: bool, listener: str
) -> None:
    who = context(principal, listener)
    taken = while_rolled and listener == "FORMER"
    assert acts_as_replica(authorizer, who, {"FORMER"}) is taken
    if taken:
        require_cluster_action(authorizer, who, {"FORMER"})
    else:
        with pytest.raises(KafkaError) as rejected:
            require_cluster_action(authorizer, who, {"FORMER"})
        assert rejected.value.error is Error.CLUSTER_AUTHORIZATION_FAILED


@pytest.mark.parametrize("broker_listener", ["inter_broker", "control_plane", "privileged"])
def test_followers_are_accepted_on_broker_listeners(broker_listener: str) -> None:
    assert acts_as_replica(ALLOW_ALL, anonymous("PLAINTEXT", **{broker_listener: True}))
    assert not acts_as_replica(ALLOW_ALL, anonymous("PLAINTEXT"))
    assert not acts_as_replica(
        acl(("x", "ALTER", "cluster")), context("alice", "REPLICATION", **{broker_listener: True})
    )
