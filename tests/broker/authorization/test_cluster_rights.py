"""Changes that need a right on the cluster: the receiving broker and the controller use one table."""

from __future__ import annotations

import pytest

from signalbox.broker.authorization.cluster_rights import CLUSTER_RIGHTS, require_cluster_right
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from tests.broker.handler_requests import acl, context


@pytest.mark.spec("F6")
@pytest.mark.parametrize("api_key", CLUSTER_RIGHTS, ids=lambda key: ApiKey(key).name)
def test_that_very_right_is_needed(api_key: int) -> None:
    needed = CLUSTER_RIGHTS[api_key]
    require_cluster_right(acl(("alice", needed.name, "cluster")), context("alice"), api_key)
    for authorizer in (acl(("bob", needed.name, "cluster")), acl(("alice", "CLUSTER_ACTION", "cluster"))):
        with pytest.raises(KafkaError) as rejected:
            require_cluster_right(authorizer, context("alice"), api_key)
        assert rejected.value.error is Error.CLUSTER_AUTHORIZATION_FAILED
