from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from signalbox.coordinator.timer_queue import TimerQueue


def queue_with(fired: list[str], *rows: tuple[str, float]) -> TimerQueue[Callable[[], None]]:
    queue: TimerQueue[Callable[[], None]] = TimerQueue()
    for key, due_at_ms in rows:
        queue.schedule(key, due_at_ms, lambda key=key: fired.append(key))  # type: ignore[misc]
    return queue


def fire(queue: TimerQueue[Callable[[], None]], now_ms: float) -> None:
    for action in queue.take_due(now_ms):
        action()


def test_actions_come_when_due_earliest_first() -> None:
    fired: list[str] = []
    queue = queue_with(fired, ("b", 20), ("a", 10), ("c", 30))
    assert queue.next_check_ms() == 10
    fire(queue, 25)
    assert fired == ["a", "b"]
    assert len(queue) == 1


def test_a_key_has_one_deadline_that_moves_either_way() -> None:
    fired: list[str] = []
    queue = queue_with(fired, ("a", 10))
    queue.schedule("a", 30, lambda: fired.append("later"))
    fire(queue, 20)
    assert fired == []
    queue.schedule("a", 25, lambda: fired.append("sooner"))
    assert queue.next_check_ms() == 25
    fire(queue, 25)
    fire(queue, 100)
    assert fired == ["sooner"]


def test_a_cancelled_key_is_silent_and_may_come_back() -> None:
    fired: list[str] = []
    queue = queue_with(fired, ("a", 10))
    queue.cancel("a")
    queue.cancel("never")
    fire(queue, 20)
    queue.schedule("a", 30, lambda: fired.append("back"))
    fire(queue, 30)
    assert fired == ["back"]


def test_what_an_action_schedules_for_now_runs_too() -> None:
    fired: list[str] = []
    queue: TimerQueue[Callable[[], None]] = TimerQueue()
    queue.schedule("a", 1, lambda: queue.schedule("b", 2, lambda: fired.append("b")))
    fire(queue, 5)
    assert fired == ["b"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["schedule", "cancel", "fire"]),
            st.integers(min_value=0, max_value=4),
            st.integers(min_value=0, max_value=40),
        )
    )
)
def test_it_agrees_with_a_plain_dictionary(steps: list[tuple[str, int, int]]) -> None:
    queue: TimerQueue[Callable[[], None]] = TimerQueue()
    model: dict[int, int] = {}
    now = 0
    for step, key, amount in steps:
        if step == "schedule":
            queue.schedule(key, now + amount, lambda: None)
            model[key] = now + amount
        elif step == "cancel":
            queue.cancel(key)
            model.pop(key, None)
        else:
            now += amount
            due = [key for key, at in model.items() if at <= now]
            assert len(list(queue.take_due(now))) == len(due)
            model = {key: at for key, at in model.items() if at > now}
        assert len(queue) == len(model)
        if model:
            check_ms = queue.next_check_ms()
            assert check_ms is not None
            assert check_ms <= min(model.values())
