"""UpdateFeatures at a real controller: every version, and the required rights."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.handlers.configs.update_features import UpdateFeaturesHandler
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.update_features import UpdateFeaturesRequest
from tests.broker.handler_requests import ALLOW_ALL, acl, request_of
from tests.broker.handlers.running_broker import RunningBroker


def ask(running_broker: RunningBroker, version: int, level: int, authorizer: Any = ALLOW_ALL, **fields: Any) -> Any:
    update = UpdateFeaturesRequest.FeatureUpdateKey(feature="signalbox.version", max_version_level=level, **fields)
    body = UpdateFeaturesRequest(feature_updates=[update], timeout_ms=5000)
    return running_broker.answer(
        UpdateFeaturesHandler(running_broker.components.controller, authorizer), request_of(body, version)
    )


@pytest.mark.spec("F2")
@pytest.mark.parametrize("version", range(3))
def test_a_level_is_finalized_and_removed(running_broker: RunningBroker, version: int) -> None:
    down = {"allow_downgrade": True} if version == 0 else {"upgrade_type": 2}
    raised = ask(running_broker, version, 1)
    assert (raised.error_code, raised.error_message) == (Error.NONE, None)
    named = [(each.feature, each.error_code, each.error_message) for each in raised.results]
    assert named == ([("signalbox.version", 0, None)] if version < 2 else [])
    assert running_broker.components.cache.image.features.levels == {"signalbox.version": 1}, (
        "shown when it is answered"
    )
    rejected = ask(running_broker, version, 0)
    assert rejected.error_code == Error.INVALID_UPDATE_VERSION
    assert ask(running_broker, version, 0, **down).error_code == Error.NONE
    assert running_broker.components.cache.image.features.levels == {}


@pytest.mark.parametrize("version", range(3))
def test_alter_on_the_cluster_is_needed(running_broker: RunningBroker, version: int) -> None:
    rejected = ask(running_broker, version, 1, acl(("alice", "ALTER_CONFIGS", "cluster")))
    assert (rejected.error_code, rejected.results) == (Error.CLUSTER_AUTHORIZATION_FAILED, [])
    assert running_broker.components.cache.image.features.levels == {}
