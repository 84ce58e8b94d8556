"""Changes that other brokers stored: the controller applies each once, the newest wins."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.controller.context import StoredAcls
from signalbox.controller.decision import LeadersAnnounced
from signalbox.controller.direct_writes.external_update import SharedRead
from signalbox.controller.direct_writes.shared_metadata import shared_changed
from signalbox.controller.replay import preview, replay
from signalbox.security.acl import AccessControlEntry, AclOperation, AclPermission, ResourcePattern, ResourceType
from tests.controller.cluster import inputs
from tests.controller.contexts import make_context, states, tp

pytestmark = pytest.mark.spec("F17")
PATTERN = ResourcePattern(ResourceType.TOPIC, "t")
READ = StoredAcls((AccessControlEntry("User:a", "*", AclOperation.READ, AclPermission.ALLOW),), 3)
CONTEXT = make_context(
    1,
    2,
    topics={"t": {0: "1*"}},
    configs={"topics/t": {"retention.ms": "5"}, "users/gone": {"producer_byte_rate": "1"}},
    shared_version=4,
)


def part(**fields: Any) -> Any:
    return make_context(1, 2, **fields)


def test_what_is_newer_is_taken_over_and_what_is_gone_goes() -> None:
    paths = {"/config/topics/t": 6, "/config/users/gone": 5, "/kafka-acl/Topic/t": 6}
    read = SharedRead(6, paths, part(configs={"topics/t": {"retention.ms": "6"}}, acls={PATTERN: READ}))
    decision = shared_changed(CONTEXT, inputs(), read)
    after, stored = replay(CONTEXT, decision.records)
    assert stored == [], "the store has it already"
    assert (after.configs, after.acls) == ({"topics/t": {"retention.ms": "6"}}, {PATTERN: READ})
    assert after.shared_version == 6
    assert shared_changed(after, inputs(), read).records == ()


def test_changes_that_the_controller_has_applied_meanwhile_are_kept() -> None:
    read = SharedRead(6, {"/config/topics/t": 3, "/brokers/topics/u": 4}, part(topics={"u": {0: "1 2 isr new"}}))
    after = preview(CONTEXT, shared_changed(CONTEXT, inputs(), read).records)
    assert (after.configs, set(after.topics), after.shared_version) == (CONTEXT.configs, {"t"}, 6)


def test_a_new_topic_gets_its_leaders() -> None:
    read = SharedRead(5, {"/brokers/topics/u": 5}, part(topics={"u": {0: "2 1 isr new", 1: "1 2 isr new"}}))
    decision = shared_changed(CONTEXT, inputs(), read)
    assert {name: text.split()[0] for name, text in states(decision).items()} == {"u-0": "2/0/0", "u-1": "1/0/0"}
    assert LeadersAnnounced((tp(0, "u"), tp(1, "u")), is_new=True) in decision.effects


def test_everything_that_was_looked_at_replaces_what_was_known() -> None:
    read = SharedRead(9, None, part(topics={"t": {0: "1*"}, "u": {0: "1 isr new"}}, configs={"users/b": {}}))
    after = preview(CONTEXT, shared_changed(CONTEXT, inputs(), read).records)
    assert after.configs == {"users/b": {}}
    assert after.topics["t"] is CONTEXT.topics["t"], "a topic that is known is the controller's own"
    assert after.topics["u"].states[0].leader == 1
