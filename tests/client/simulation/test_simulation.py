"""Whatever the order of faults: a property test over seeds, in a simulated network and in virtual time."""

from __future__ import annotations

import random
from functools import cache

import pytest

from tests.client.simulation.story import CONNECT_TIMEOUT_MS, HEALTHY, LEADERS, SEND_EVERY_S, Story
from tests.client.simulation.virtual_loop import run_virtually

SEEDS = range(10)
_GRACE_S = 0.06  # a call may wait as long as this for the timeout of its own request
_STEADY_S = len(LEADERS) * SEND_EVERY_S + 0.1  # between two records of a partition, with the time of a request
_STARTING_OVER = "starting over from the bootstrap servers"
_ENDS = ("bootstrap is over", "the client is closed")
_RECOVERED_S = 6.0  # of virtual time: a rebootstrap beside two bootstrap servers that do not answer


@cache
def story_of(seed: int) -> Story:
    """The run of a seed, once."""
    random.seed(seed)  # of the backoffs
    story = Story(seed)
    with pytest.MonkeyPatch.context() as patch:
        story.network.install(patch)
        run_virtually(story.run())
    return story


@pytest.mark.spec("R5", "R6", "R10")
@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_the_order_of_faults(seed: int) -> None:
    story = story_of(seed)
    faults = "\n".join(story.faults)
    assert story.failures == [], faults
    for index, sent in story.sent.items():
        assert story.stored(index) == sent, f"partition {index}: lost, repeated or out of order\n{faults}"
        assert story.read(index) == sent, f"partition {index}: not read once and in order\n{faults}"
    assert max(story.overruns_s) <= _GRACE_S, faults
    assert story.rounds == 1, "one rebootstrap at a time"


@pytest.mark.spec("R5", "R6", "R10")
@pytest.mark.parametrize("seed", SEEDS)
def test_a_healthy_node_keeps_its_traffic(seed: int) -> None:
    """Its connections are closed by a rebootstrap alone, once for each, and only then a record is late."""
    story = story_of(seed)
    faults = "\n".join(story.faults)
    closed = [(at, reason) for at, route, reason in story.network.closed if route is story.routes[HEALTHY]]
    started_over = {at for at, reason in closed if reason.endswith(_STARTING_OVER)}
    assert len(started_over) <= story.rebootstraps, faults
    assert [reason for _, reason in closed if not reason.endswith((_STARTING_OVER, *_ENDS))] == [], faults
    healthy = [index for index, leader in enumerate(LEADERS) if leader == HEALTHY]
    late = [
        (earlier, later)
        for index in healthy
        for earlier, later in zip(story.acknowledged_at[index], story.acknowledged_at[index][1:], strict=False)
        if later - earlier > _STEADY_S
    ]
    assert [gap for gap in late if not any(gap[0] <= at <= gap[1] for at in started_over)] == [], faults
    assert all(later - earlier <= _RECOVERED_S + CONNECT_TIMEOUT_MS / 1000 for earlier, later in late), faults


def test_the_seeds_cause_every_kind_of_recovery() -> None:
    """Else the property would hold because nothing happens."""
    stories = [story_of(seed) for seed in SEEDS[:6]]
    assert len({line.split()[1] for story in stories for line in story.faults}) == 8
    assert sum(story.rebootstraps for story in stories) > 0
    for cluster in ("cluster", "foreign"):
        brokers = [broker for story in stories for broker in getattr(story, cluster).brokers.values()]
        assert sum(broker.rejected for broker in brokers) > 0, f"no route was rejected by a node of the {cluster}"


def test_a_seed_has_one_story() -> None:
    first, again = story_of(0), story_of.__wrapped__(0)
    assert (first.faults, first.acknowledged_at) == (again.faults, again.acknowledged_at)
