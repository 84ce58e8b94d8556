from __future__ import annotations

import logging
import os
import resource
from collections.abc import Iterator

import pytest

from signalbox.common.limits import SPARE_DESCRIPTORS
from signalbox.network.acceptors.descriptors import Descriptors, raise_limit


@pytest.fixture
def limits() -> Iterator[tuple[int, int]]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _highest() -> int:
    return max(map(int, os.listdir("/proc/self/fd")))


def test_the_last_descriptors_are_reserved_and_that_is_logged_once(
    limits: tuple[int, int], caplog: pytest.LogCaptureFixture
) -> None:
    descriptors = Descriptors()
    limit = 4 * (_highest() + 50)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limits[1]))
    spare = min(SPARE_DESCRIPTORS, limit // 4)
    held: list[int] = []
    with caplog.at_level(logging.INFO):
        for for_brokers, left in ((False, spare), (True, spare // 4)):
            while not descriptors.scarce(for_brokers):
                held.append(os.dup(0))
            assert max(held) == limit - left - 1
            assert descriptors.scarce(for_brokers)
        held += [os.dup(0) for _ in range(spare // 4)]  # those that are reserved for files are available
        assert descriptors.scarce(True), "none is left at all"
        for each in held:
            os.close(each)
        assert [descriptors.scarce(for_brokers) for for_brokers in (False, True)] == [False, False]
    log_messages = [record.getMessage() for record in caplog.records]
    assert len(log_messages) == 4
    assert log_messages[0].startswith(
        f"Connections of clients wait: the last {spare} of {limit} file descriptors are reserved"
    )
    assert log_messages[1].startswith(
        f"Connections of brokers wait: the last {spare // 4} of {limit} file descriptors are reserved"
    )
    assert log_messages[2:] == [f"File descriptors are available for {group} again" for group in ("clients", "brokers")]


def test_the_soft_limit_is_raised_to_the_hard_limit(limits: tuple[int, int]) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (_highest() + 100, limits[1]))
    raise_limit()
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == limits[1]
