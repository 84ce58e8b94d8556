"""UpdateFeatures: finalized levels, rejected levels, and error messages as in Kafka 4."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from signalbox.controller.brokers.broker_control import brokers_changed
from signalbox.controller.config_rows import ControllerSettings
from signalbox.controller.context import ControllerContext, LiveBroker
from signalbox.controller.decision import Decision, Inputs
from signalbox.controller.election.failover import take_over
from signalbox.controller.entities.feature_control import (
    UpgradeType,
    compatible_brokers,
    controllers_changed,
    update_features,
)
from signalbox.controller.records import ControllersRegistered, FeaturesFinalized
from signalbox.controller.replay import replay
from signalbox.metadata.entries.feature_levels import FinalizedFeatures, encode_features
from signalbox.metadata.image import MetadataImage
from signalbox.metadata.layout import FEATURE
from signalbox.metadata.store.port import Create, Write
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.update_features import UpdateFeaturesRequest
from tests.controller.cluster import inputs, registration
from tests.controller.contexts import after, make_context

UP, SAFE, UNSAFE = UpgradeType
_FAILED = "The update failed for all features since the following feature had an error: "


def brokers(**features: tuple[int, int]) -> dict[int, LiveBroker]:
    return {each: LiveBroker(registration(each, features=dict(features)), each * 100) for each in (1, 2)}


def context_with(levels: dict[str, int], epoch: int = 4, **ranges: tuple[int, int]) -> ControllerContext:
    features = FinalizedFeatures(levels, epoch, True)
    return make_context(brokers=brokers(**(ranges or {"f": (1, 3), "g": (2, 2)})), features=features)


def supporting() -> Inputs:
    return replace(inputs(), settings=ControllerSettings(supported_features={"f": (1, 3), "g": (2, 2)}))


def update(feature: str, level: int, kind: int = UP, *, allow_downgrade: bool = False) -> Any:
    return UpdateFeaturesRequest.FeatureUpdateKey(
        feature=feature, max_version_level=level, upgrade_type=kind, allow_downgrade=allow_downgrade
    )


def decided(context: ControllerContext, *updates: Any, **fields: Any) -> Decision:
    return update_features(context, supporting(), UpdateFeaturesRequest(feature_updates=list(updates), **fields))


def error(decision: Decision) -> tuple[Error, str | None]:
    response: Any = decision.response
    return Error.of(response.error_code), response.error_message


@pytest.mark.spec("F2")
@pytest.mark.parametrize(
    ("present", "asked", "levels"),
    [
        ({}, update("f", 2), {"f": 2}),
        ({"f": 1}, update("f", 3), {"f": 3}),
        ({"f": 3}, update("f", 1, SAFE), {"f": 1}),
        ({"f": 3}, update("f", 1, UNSAFE), {"f": 1}),
        ({"f": 3}, update("f", 1, allow_downgrade=True), {"f": 1}),  # version 0
        ({"f": 3, "g": 2}, update("f", 0, SAFE), {"g": 2}),
    ],
)
def test_levels_rise_and_fall(present: dict[str, int], asked: Any, levels: dict[str, int]) -> None:
    decision = decided(context_with(present), asked)
    assert decision.records == (FeaturesFinalized(levels),)
    assert error(decision) == (Error.NONE, None)
    response: Any = decision.response
    assert [(each.feature, each.error_code) for each in response.results] == [(asked.feature, 0)]


@pytest.mark.parametrize(
    ("present", "asked", "problem"),
    [
        ({}, update("f", 4), "Invalid update version 4 for feature f. Local controller 1 only supports versions 1-3"),
        ({}, update("g", 1), "Invalid update version 1 for feature g. Local controller 1 only supports versions 2"),
        (
            {},
            update("metadata.version", 20),
            "Invalid update version 20 for feature metadata.version. Local controller 1 does not support this feature.",
        ),
        ({}, update("", 1), "Invalid update version 1 for feature . Local controller 1 does not support this feature."),
        ({}, update("f", -1), "Invalid update version -1 for feature f. A feature version cannot be less than 0."),
        (
            {},
            update("f", 1, 0),
            "Invalid update version 1 for feature f. The controller does not support the given upgrade type.",
        ),
        (
            {"f": 2},
            update("f", 1),
            "Invalid update version 1 for feature f. Can't downgrade the version of this feature without setting the"
            " upgrade type to either safe or unsafe downgrade.",
        ),
        ({"f": 2}, update("f", 3, SAFE), "Invalid update version 3 for feature f. Can't downgrade to a newer version."),
        ({}, update("f", 1, UNSAFE), "Invalid update version 1 for feature f. Can't downgrade to a newer version."),
    ],
)
def test_what_is_rejected_in_kafkas_words(present: dict[str, int], asked: Any, problem: str) -> None:
    decision = decided(context_with(present), asked)
    assert error(decision) == (Error.INVALID_UPDATE_VERSION, _FAILED + problem)
    assert not decision.records


def test_every_living_broker_must_support_the_level() -> None:
    context = context_with({})
    older = {**context.brokers, 2: LiveBroker(registration(2, features={"f": (1, 2)}), 200)}
    decision = decided(replace(context, brokers=older), update("f", 3))
    message = "Invalid update version 3 for feature f. Broker 2 only supports versions 1-2"
    assert error(decision) == (Error.INVALID_UPDATE_VERSION, _FAILED + message)
    older[2] = LiveBroker(registration(2), 200)
    decision = decided(replace(context, brokers=older), update("f", 1))
    message = "Invalid update version 1 for feature f. Broker 2 does not support this feature."
    assert error(decision) == (Error.INVALID_UPDATE_VERSION, _FAILED + message)


@pytest.mark.spec("F2", "F15")
def test_every_living_controller_must_support_the_level() -> None:
    able = {"f": (1, 3), "g": (2, 2)}
    context = replace(context_with({"f": 1}), controllers={1: {}, 103: {"f": (1, 2)}, 102: able})
    assert error(decided(context, update("f", 2)))[0] is Error.NONE, "of itself this controller knows"
    message = "Invalid update version 3 for feature f. Controller 103 only supports versions 1-2"
    assert error(decided(context, update("f", 3))) == (Error.INVALID_UPDATE_VERSION, _FAILED + message)
    older = replace(context, controllers={102: able, 103: {}})
    message = "Invalid update version 2 for feature f. Controller 103 does not support this feature."
    assert error(decided(older, update("f", 2))) == (Error.INVALID_UPDATE_VERSION, _FAILED + message)
    assert error(decided(older, update("f", 0, SAFE)))[0] is Error.NONE
    broker = {**older.brokers, 2: LiveBroker(registration(2), 200)}
    first = error(decided(replace(older, brokers=broker), update("f", 2)))[1]
    assert first == f"{_FAILED}Invalid update version 2 for feature f. Broker 2 does not support this feature."


def test_controllers_come_and_go(caplog: pytest.LogCaptureFixture) -> None:
    context = context_with({"f": 2})
    found = {101: {"f": (1, 2)}, 102: {"f": (1, 1)}}
    decision = controllers_changed(context, inputs(), found)
    assert decision == Decision(records=(ControllersRegistered(found),))
    now, operations = replay(context, decision.records)
    assert (now.controllers, operations) == (found, [])
    assert caplog.messages == [
        "Controller 102 excluded from the cluster: f is finalized at 2 and supported from 1 to 1"
    ]
    assert controllers_changed(now, inputs(), dict(found)) == Decision()
    assert after(now, controllers_changed(now, inputs(), {})).controllers == {}


def test_one_bad_update_spoils_all() -> None:
    decision = decided(context_with({}), update("f", 1), update("g", 9))
    assert (error(decision)[0], decision.records) == (Error.INVALID_UPDATE_VERSION, ())


@pytest.mark.parametrize(
    ("asked", "fields"),
    [
        (update("f", 2), {}),  # unchanged level
        (update("f", 3), {"validate_only": True}),
        (update("unknown", 0, SAFE), {}),  # deletion of an unknown feature
    ],
)
def test_nothing_is_stored_when_nothing_changes_or_is_only_tried(asked: Any, fields: dict[str, Any]) -> None:
    decision = decided(context_with({"f": 2}), asked, **fields)
    assert (error(decision)[0], decision.records, decision.visibility) == (Error.NONE, (), None)
    rejected = decided(context_with({"f": 2}), update("f", 1), **fields)
    assert error(rejected)[0] is Error.INVALID_UPDATE_VERSION


def test_the_answer_waits_until_the_change_shows_here() -> None:
    visibility = decided(context_with({}, epoch=4), update("f", 1), timeout_ms=700).visibility
    assert visibility is not None
    assert visibility.timeout_ms == 700
    shown = [
        visibility.holds(MetadataImage({}, {}, {}, features=FinalizedFeatures({}, epoch, True))) for epoch in (4, 5, 6)
    ]
    assert shown == [False, True, True]
    late: Any = visibility.when_late()
    assert late.error_code == Error.FEATURE_UPDATE_FAILED


def test_what_is_stored_names_the_version_before() -> None:
    context = context_with({}, epoch=4)
    now, operations = replay(context, decided(context, update("f", 1)).records)
    assert operations == [Write(FEATURE, encode_features({"f": 1}), 4)]
    assert now.features == FinalizedFeatures({"f": 1}, 5, True)


def test_a_new_cluster_begins_with_nothing_finalized() -> None:
    fresh = make_context(1)
    decision = take_over(fresh, inputs())
    assert replay(fresh, decision.records)[1] == [Create(FEATURE, encode_features({}))]
    assert after(fresh, decision).features == FinalizedFeatures({}, 0, True)
    disabled = make_context(1, features=FinalizedFeatures({}, 3, False))
    assert replay(disabled, take_over(disabled, inputs()).records)[1] == [Write(FEATURE, encode_features({}), 3)]
    enabled = context_with({"f": 1})
    assert not any(isinstance(record, FeaturesFinalized) for record in take_over(enabled, inputs()).records)


def test_a_broker_that_lacks_a_finalized_feature_is_no_member(caplog: pytest.LogCaptureFixture) -> None:
    context = context_with({"f": 2})
    incompatible = LiveBroker(registration(3), 300)
    assert brokers_changed(context, inputs(), {**context.brokers, 3: incompatible}) == Decision()
    assert "Broker 3 excluded from the cluster: f is finalized at 2 and not supported" in caplog.text
    able = LiveBroker(registration(3, features={"f": (1, 2)}), 300)
    assert sorted(compatible_brokers({**context.brokers, 3: able}, {"f": 2})) == [1, 2, 3]
