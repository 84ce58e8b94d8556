"""The rules of the data loop's turns, by a clock that the works themselves set."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.transport.fair_scheduler import FairMember, FairScheduler, MemberQueue, TrafficClass

REPLICATION, HEAVY = TrafficClass.REPLICATION, TrafficClass.HEAVY
LONGEST = 10.0
costs = st.floats(0.1, LONGEST)


class HandSetClock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Backlog(FairMember):
    """A member that always has another work; `served` is the time that its works took."""

    def __init__(self, clock: HandSetClock, seconds: list[float]) -> None:
        super().__init__()
        self.clock, self.seconds = clock, seconds
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
    backlogs = [Backlog(clock, seconds) for seconds in members]
    for backlog in backlogs:
        queue.add(backlog, backlog.work)
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
    backlogs = {REPLICATION: Backlog(clock, replication), HEAVY: Backlog(clock, heavy)}
    for traffic_class, backlog in backlogs.items():
        fair.add(backlog, traffic_class, backlog.work)
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
    backlog = Backlog(clock, heavy)
    fair.add(backlog, HEAVY, backlog.work)
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
        fair.add(members[member], HEAVY if number % 2 else REPLICATION, work)

    members = {name: FairMember() for name in "abc"}
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
    member = FairMember()
    seen: list[bool] = []

    def work() -> bool:
        seen.append(member.has_works)
        return False

    fair.add(member, HEAVY, work)
    assert member.has_works
    fair.run_next(clock, clock())
    assert seen == [True]
    assert not member.has_works
    assert fair.ended is member


def test_a_member_that_changes_its_class_begins_a_new_account() -> None:
    """It used much time as HEAVY, which does not count among the followers."""
    clock, fair = HandSetClock(), FairScheduler()
    member, follower = FairMember(), Backlog(clock, [1.0])
    ran: list[str] = []

    def work(name: str, seconds: float) -> bool:
        clock.now += seconds
        ran.append(name)
        return False

    fair.add(follower, REPLICATION, follower.work)
    fair.add(member, HEAVY, lambda: work("as heavy", 100.0))
    while not ran:
        fair.run_next(clock, clock())
    fair.add(member, REPLICATION, lambda: work("as follower", 1.0))
    runs = follower.runs
    while len(ran) < 2:
        fair.run_next(clock, clock())
    assert follower.runs - runs <= 2


def test_who_used_more_time_owes_nothing_after_a_time_without_works() -> None:
    clock, queue = HandSetClock(), MemberQueue()
    long, short = FairMember(), FairMember()
    ran: list[FairMember] = []

    def work(member: FairMember, seconds: float) -> bool:
        clock.now += seconds
        ran.append(member)
        return False

    for _ in range(2):
        queue.add(long, lambda: work(long, 50.0))
        queue.add(short, lambda: work(short, 1.0))
        for _ in range(2):
            queue.run_next(clock, clock())
    assert ran == [long, short, long, short]


def test_new_members_do_not_stop_one_that_has_work() -> None:
    """As in connection churn: at every moment there is a member that has used no time yet."""
    clock, queue = HandSetClock(), MemberQueue()
    backlog = Backlog(clock, [1.0])
    queue.add(backlog, backlog.work)

    def work() -> bool:
        clock.now += 1.0
        return False

    queue.add(FairMember(), work)
    for _ in range(1_000):
        queue.add(FairMember(), work)
        queue.run_next(clock, clock())
    assert backlog.served > 30, "more members come than can be served: it has the share of one"


def test_a_failed_work_is_logged_and_the_next_one_runs(caplog: pytest.LogCaptureFixture) -> None:
    clock, fair = HandSetClock(), FairScheduler()
    member, ran = FairMember(), list[str]()
    fair.add(member, HEAVY, lambda: bool(1 // 0))

    def next_one() -> bool:
        ran.append("next")
        return False

    fair.add(member, HEAVY, next_one)
    fair.run_next(clock, clock())
    fair.run_next(clock, clock())
    assert ran == ["next"]
    assert "ZeroDivisionError" in caplog.text


def test_a_light_flood_and_a_heavy_member_share_the_time() -> None:
    clock, fair = HandSetClock(), FairScheduler()
    backlog = Backlog(clock, [2.0])
    fair.add(backlog, HEAVY, backlog.work)
    for _ in range(1000):
        if fair.light_is_next():
            clock.now += 0.1
            fair.charge_light(0.1)
        else:
            fair.run_next(clock, clock())
    assert backlog.served / clock.now == pytest.approx(0.5, abs=0.05)
