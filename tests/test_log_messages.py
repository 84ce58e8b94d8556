"""How messages are found in the source."""

from __future__ import annotations

import pytest

from tests.log_messages import messages_in, normalized

_CODE = """
class Owner:
    def __init__(self):
        self._trouble = TransitionLog(log, "it is over", logging.ERROR)
        self._each = defaultdict(lambda: TransitionLog(log, level=logging.INFO))
        self._plain = TransitionLog(_log)

    def act(self, node):
        log.info("not this one")
        level = logging.DEBUG if node else logging.WARNING
        _log.log(level, "Fetch from %s failed: %d%%", node, 3)
        self._trouble.failed(f"Store is full: {node!r}")
        self._each[node].failed("quiet")
        self._plain.failed("Heartbeat missing")
        self.logger.exception("Task failed"
                              " twice")
        math.log(2)

    def other(self):
        level = logging.INFO
        log.log(level, "nor this one")
"""


def test_every_way_of_logging_is_found() -> None:
    assert sorted(messages_in(_CODE, "owner.py")) == [
        ("ERROR", "Store is full: <>"),
        ("ERROR", "Task failed twice"),
        ("WARNING", "Fetch from <> failed: <>%"),
        ("WARNING", "Heartbeat missing"),
    ]


def test_a_message_that_is_no_literal_is_named_with_its_place() -> None:
    with pytest.raises(AssertionError, match=r"owner\.py:1: the message is no literal"):
        list(messages_in("log.error(str(error))", "owner.py"))
    with pytest.raises(AssertionError, match=r"owner\.py:1: the message is nothing but placeholders"):
        list(messages_in('log.error("%s: %s", 1, 2)', "owner.py"))


def test_names_of_placeholders_do_not_count() -> None:
    assert normalized("Broker <broker> is gone: <reason><suppressed>") == "Broker <> is gone: <><>"
