from __future__ import annotations

from signalbox.coordinator.decision import CoordinatorRecord, Decision, nothing


def test_nothing_is_a_decision_of_its_own_each_time() -> None:
    first, second = nothing(), nothing()
    first.records.append(CoordinatorRecord("k", None))
    assert second.records == []
    assert second == Decision(None)
