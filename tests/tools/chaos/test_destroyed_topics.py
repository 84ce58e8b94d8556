"""A missing record counts as lost and logged if every copy was destroyed and a log names its offset; else it is
lost."""

from __future__ import annotations

import pytest
from tools.chaos.destroyed_topics import DestroyedTopic, LoggedLoss, check_destroyed
from tools.chaos.ledger import RecordId

from signalbox.common.ids import TopicPartition

pytestmark = pytest.mark.spec("D3")

NAME = "copies-destroyed-1"
BEFORE = [RecordId(0, number) for number in range(4)]
AFTER = RecordId(1, 0)


def topic(*found: RecordId) -> DestroyedTopic:
    """Four records were acknowledged in partition 1 before its copies were destroyed, and one after that, at offset 2
    of the remaining log."""
    made = DestroyedTopic(NAME, before=frozenset(BEFORE), found={1: list(enumerate(found))})
    for offset, record in enumerate(BEFORE):
        made.ledger.acknowledge(record, 1, offset, 1.0)
    made.ledger.acknowledge(AFTER, 1, 2, 2.0)
    return made


def loss(first: int, last: int | None, partition: int = 1, name: str = NAME) -> LoggedLoss:
    return LoggedLoss(TopicPartition(name, partition), first, last)


@pytest.mark.parametrize("logged", [loss(2, 3), loss(2, None), loss(0, None)])
def test_what_a_log_names_is_lost_and_logged(logged: LoggedLoss) -> None:
    check = check_destroyed([topic(*BEFORE[:2], AFTER)], [logged])
    assert (check.lost, check.lost_and_logged, check.examples) == (0, 2, ())


@pytest.mark.parametrize(
    ("logged", "accepted"),
    [([], 0), ([loss(2, 2)], 1), ([loss(3, None)], 1), ([loss(2, 3, 0)], 0), ([loss(2, 3, name="chaos")], 0)],
)
def test_what_no_log_names_is_lost(logged: list[LoggedLoss], accepted: int) -> None:
    check = check_destroyed([topic(*BEFORE[:2], AFTER)], logged)
    assert (check.lost, check.lost_and_logged) == (2 - accepted, accepted)
    assert check.examples[0].startswith(f"{NAME}: lost: RecordId(producer=0, number=")


def test_what_was_acknowledged_later_is_lost_whatever_a_log_says() -> None:
    check = check_destroyed([topic(*BEFORE[:2])], [loss(0, None)])
    assert (check.lost, check.lost_and_logged) == (1, 2)
    assert check.examples == (f"{NAME}: lost: {AFTER} acknowledged at (1, 2)",)


def test_without_destroyed_copies_nothing_is_accepted() -> None:
    without_destruction = topic(*BEFORE[:2], AFTER)
    without_destruction.before = frozenset()
    assert check_destroyed([without_destruction], [loss(0, None)]).lost == 2


def test_what_is_there_stands_where_it_was_acknowledged() -> None:
    check = check_destroyed([topic(BEFORE[1], BEFORE[0], AFTER)], [loss(0, None)])
    assert check.lost == 0
    assert [example.split(": ")[1] for example in check.examples] == ["reordered", "misplaced", "misplaced"]


def test_several_topics_are_counted_together() -> None:
    check = check_destroyed([topic(AFTER), topic(*BEFORE)], [loss(0, None)])
    assert (check.lost, check.lost_and_logged) == (1, 4)
    assert check_destroyed([], []).lost == 0
