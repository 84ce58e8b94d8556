"""The rules of the data loop's turns, by a clock that the works themselves set."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.transport.fair_scheduler import FairScheduler, MemberQueue, TrafficClass

REPLICATION, HEAVY = TrafficClass.REPLICATION, TrafficClass.HEAVY
LONGEST = 10.0
costs = st.floats(0.1, LONGEST)


class HandSetClock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Backlog:
    """A member that always has another work; `served` is the time that its works took."""

    def __init__(self, name: str, clock: HandSetClock, seconds: list[float]) -> None:
        self.name, self.clock, self.seconds = name, clock, seconds
        self.served = 0.0
        self.runs = 0
        self.ran_at = 0.0
        self.longest_wait = 0.0

    def work(self) -> bool:
        self.longest_wait = max(self.longest_wait, self.clock.now - self.ran_at)
        cost = self.seconds[self.runs % len(self.seconds)]
        self.runs += 1
        self.served += cost
        self.clock.now += cost
        self.ran_at = self.clock.now
        return True


@given(st.lists(st.lists(costs, min_size=1, max_size=5), min_size=2, max_size=6))
def test_members_of_a_class_get_equal_time_and_wait_no_longer_than_a_round(members: list[list[float]]) -> None:
    clock, queue = HandSetClock(), MemberQueue()
    backlogs = [Backlog(str(number), clock, seconds) for number, seconds in enumerate(members)]
    for backlog in backlogs:
        queue.add(backlog.name, backlog.work)
    for _ in range(200):
        queue.run_next(clock, clock())
    served = [backlog.served for backlog in backlogs]
    assert max(served) - min(served) <= 2 * LONGEST
    for backlog in backlogs:
        # In the time of a wait each other member may run its lead of one work, and one more.
        assert backlog.longest_wait <= 2 * LONGEST * (len(backlogs) - 1)


@given(st.lists(costs, min_size=1, max_size=5), st.lists(costs, min_size=1, max_size=5), st.floats(0.1, LONGEST))
def test_classes_with_work_get_equal_time(replication: list[float], heavy: list[float], light: float) -> None:
    clock, fair = HandSetClock(), FairScheduler()
    backlogs = {REPLICATION: Backlog("r", clock, replication), HEAVY: Backlog("h", clock, heavy)}
    for traffic_class, backlog in backlogs.items():
        fair.add(backlog.name, traffic_class, backlog.work)
    light_served = 0.0
    for _ in range(300):
        if fair.light_is_next():
            clock.now += light
            light_served += light
            fair.charge_light(light)
        else:
            fair.run_next(clock, clock())
    shares = [light_served, *(backlog.served for backlog in backlogs.values())]
    assert max(shares) - min(shares) <= 2 * LONGEST


@given(st.lists(costs, min_size=20, max_size=20), st.integers(0, 19))
def test_a_class_that_was_idle_comes_first_but_is_owed_nothing(heavy: list[float], idle_until: int) -> None:
    clock, fair = HandSetClock(), FairScheduler()
    backlog = Backlog("h", clock, heavy)
    fair.add("h", HEAVY, backlog.work)
    for _ in range(idle_until):
        fair.run_next(clock, clock())
    assert fair.light_is_next()
    fair.charge_light(LONGEST)
    fair.run_next(clock, clock())
    fair.charge_light(2 * LONGEST)
    assert not fair.light_is_next()


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 3)), max_size=40))
def test_works_of_a_member_run_in_their_order(given_works: list[tuple[str, int]]) -> None:
    clock, fair = HandSetClock(), FairScheduler()
    ran: list[tuple[str, int]] = []

    def add(member: str, number: int, slices: int) -> None:
        left = [slices]

        def work() -> bool:
            clock.now += 1.0
            left[0] -= 1
            if not left[0]:
                ran.append((member, number))
            return bool(left[0])

        # The class of a member that has works does not count.
        fair.add(member, HEAVY if number % 2 else REPLICATION, work)

    for number, (member, slices) in enumerate(given_works):
        add(member, number, slices)
    while fair.waiting:
        fair.run_next(clock, clock())
    assert len(fair) == 0
    for member in "abc":
        numbers = [number for number, (name, _) in enumerate(given_works) if name == member]
        assert [number for name, number in ran if name == member] == numbers


def test_a_member_counts_until_its_work_is_over() -> None:
    clock, fair = HandSetClock(), FairScheduler()
    seen: list[bool] = []

    def work() -> bool:
        seen.append("m" in fair)
        return False

    fair.add("m", HEAVY, work)
    assert "m" in fair
    fair.run_next(clock, clock())
    assert seen == [True]
    assert "m" not in fair


def test_members_that_are_gone_are_forgotten() -> None:
    """Two members have work for ever; a thousand others have one work each."""
    clock, queue = HandSetClock(), MemberQueue()

    def work(more: bool) -> bool:
        clock.now += 1.0
        return more

    for name in ("a", "b"):
        queue.add(name, lambda: work(more=True))
    for number in range(1_000):
        queue.add(f"gone {number}", lambda: work(more=False))
        while len(queue.works) > 2:
            queue.run_next(clock, clock())
    assert len(queue._ends) < 100


def test_new_members_do_not_stop_one_that_has_work() -> None:
    """As in connection churn: at every moment there is a member that has used no time yet."""
    clock, queue = HandSetClock(), MemberQueue()
    backlog = Backlog("old", clock, [1.0])
    queue.add("old", backlog.work)

    def work() -> bool:
        clock.now += 1.0
        return False

    queue.add("new", work)
    for number in range(1_000):
        queue.add(f"new {number}", work)
        queue.run_next(clock, clock())
    assert backlog.served > 30, "more members come than can be served: it has the share of one"


def test_a_failed_work_is_logged_and_the_next_one_runs(caplog: pytest.LogCaptureFixture) -> None:
    clock, fair = HandSetClock(), FairScheduler()
    ran: list[str] = []
    fair.add("m", HEAVY, lambda: bool(1 // 0))

    def next_one() -> bool:
        ran.append("next")
        return False

    fair.add("m", HEAVY, next_one)
    fair.run_next(clock, clock())
    fair.run_next(clock, clock())
    assert ran == ["next"]
    assert "ZeroDivisionError" in caplog.text


def test_a_light_flood_and_a_heavy_member_share_the_time() -> None:
    clock, fair = HandSetClock(), FairScheduler()
    backlog = Backlog("h", clock, [2.0])
    fair.add("h", HEAVY, backlog.work)
    for _ in range(1000):
        if fair.light_is_next():
            clock.now += 0.1
            fair.charge_light(0.1)
        else:
            fair.run_next(clock, clock())
    assert backlog.served / clock.now == pytest.approx(0.5, abs=0.05)
