"""UpdateFeatures as a decision (KIP-584), and which nodes finalized features exclude from the cluster.

The rules and messages are those of Apache Kafka 4: all updates of a request are made or none, and the error is the
top-level one. Level 0 removes a feature. No level here loses data when it is lowered or removed, so a safe downgrade
does what an unsafe one does. What is stored, and where, is as in Kafka under ZooKeeper.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from enum import IntEnum

from signalbox.controller.context import ControllerContext, LiveBroker
from signalbox.controller.decision import Decision, Inputs, Visibility
from signalbox.controller.records import ControllersRegistered, FeaturesFinalized, Record
from signalbox.metadata.entries.feature_levels import LevelRanges, Levels, incompatible
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse

log = logging.getLogger(__name__)

_Update = UpdateFeaturesRequest.FeatureUpdateKey
_Result = UpdateFeaturesResponse.UpdatableFeatureResult


class UpgradeType(IntEnum):
    """FeatureUpdate.UpgradeType of Kafka's clients."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


def update_features(context: ControllerContext, inputs: Inputs, request: UpdateFeaturesRequest) -> Decision:
    """Raise, lower or remove finalized levels. The response waits until this node's metadata shows them."""
    if context.features.read_error:
        problem = f"{context.features.read_error}. Write what it held, or remove it, and restart the active controller."
        return Decision(response=UpdateFeaturesResponse(error_code=Error.FEATURE_UPDATE_FAILED, error_message=problem))
    present = context.features.levels
    levels = dict(present)
    updates = {update.feature: update for update in request.feature_updates}
    for name, update in updates.items():
        try:
            level = _level(context, inputs, update)
        except KafkaError as rejection:
            message = (
                f"The update failed for all features since the following feature had an error: {rejection.message}"
            )
            return Decision(response=UpdateFeaturesResponse(error_code=rejection.error, error_message=message))
        levels[name] = level
        if level == 0:
            del levels[name]
    results = [_Result(feature=name, error_message=None) for name in updates]
    response = UpdateFeaturesResponse(error_message=None, results=results)
    if request.validate_only or levels == present:
        return Decision(response=response)
    epoch = context.features.epoch + 1
    late = UpdateFeaturesResponse(
        error_code=Error.FEATURE_UPDATE_FAILED, error_message="The change is stored and was not seen in time."
    )
    return Decision(
        records=(FeaturesFinalized(levels),),
        response=response,
        visibility=Visibility(lambda image: image.features.epoch >= epoch, request.timeout_ms, lambda: late),
    )


def _level(context: ControllerContext, inputs: Inputs, update: _Update) -> int:
    """The requested level; KafkaError(INVALID_UPDATE_VERSION) if it cannot be finalized."""
    name, level = update.feature, update.max_version_level
    present = context.features.levels.get(name, 0)
    kind = UpgradeType.SAFE_DOWNGRADE if update.allow_downgrade else update.upgrade_type
    problem = None
    if kind not in tuple(UpgradeType):
        problem = "The controller does not support the given upgrade type."
    elif level < 0:
        problem = "A feature version cannot be less than 0."
    elif lacking := next(_unsupported(context, inputs, name, level), None):
        problem = lacking
    elif level < present and kind == UpgradeType.UPGRADE:
        problem = (
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe"
            " downgrade."
        )
    elif level > present and kind != UpgradeType.UPGRADE:
        problem = "Can't downgrade to a newer version."
    if problem is not None:
        raise KafkaError(Error.INVALID_UPDATE_VERSION, f"Invalid update version {level} for feature {name}. {problem}")
    return level


def _unsupported(context: ControllerContext, inputs: Inputs, name: str, level: int) -> Iterator[str]:
    """The nodes that do not support the level, in Kafka's order: this controller, brokers, other controllers; all nodes
    support level 0."""
    nodes = {f"Local controller {context.controller_id}": inputs.settings.supported_features}
    nodes |= {f"Broker {each}": broker.registration.features for each, broker in sorted(context.brokers.items())}
    others = sorted(each for each in context.controllers if each != context.controller_id)
    nodes |= {f"Controller {each}": context.controllers[each] for each in others}
    for node, supported in nodes.items() if level else ():
        low, high = supported.get(name, (0, 0))
        if high == 0:
            yield f"{node} does not support this feature."
        elif not low <= level <= high:
            yield f"{node} only supports versions {low if low == high else f'{low}-{high}'}"


def compatible_brokers(brokers: Mapping[int, LiveBroker], finalized: Levels) -> dict[int, LiveBroker]:
    """Those that support all finalized features. The others are logged: they are not members of the cluster."""
    members = {}
    for broker_id, broker in brokers.items():
        if lacking := incompatible(broker.registration.features, finalized):
            log.error("Broker %d excluded from the cluster: %s", broker_id, "; ".join(lacking))
        else:
            members[broker_id] = broker
    return members


def controllers_changed(context: ControllerContext, inputs: Inputs, now: Mapping[int, LevelRanges]) -> Decision:
    """`now`: the feature levels that the dedicated controllers in the store support. A controller that does not
    support the finalized levels is only logged: it reads `/feature` itself and stops, and until then it cannot be
    elected (`claim.py`)."""
    if now == context.controllers:
        return Decision()
    for controller_id in sorted(now.keys() - context.controllers.keys()):
        if lacking := incompatible(now[controller_id], context.features.levels):
            log.error("Controller %d excluded from the cluster: %s", controller_id, "; ".join(lacking))
    return Decision(records=(ControllersRegistered(now),))


def features_set_up(context: ControllerContext) -> tuple[Record, ...]:
    """A cluster that has no finalized features yet, or has them disabled, begins with none, as in Kafka. A corrupt
    entry is left for an operator to repair."""
    features = context.features
    return () if features.enabled or features.read_error else (FeaturesFinalized({}),)
