from __future__ import annotations

import logging
import os
import resource
from collections.abc import Iterator

import pytest

from signalbox.common.limits import SPARE_DESCRIPTORS
from signalbox.network.descriptors import Descriptors, raise_limit


@pytest.fixture
def limits() -> Iterator[tuple[int, int]]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _highest() -> int:
    return max(map(int, os.listdir("/proc/self/fd")))


def test_the_last_ones_are_spared_and_that_is_said_once(
    limits: tuple[int, int], caplog: pytest.LogCaptureFixture
) -> None:
    descriptors = Descriptors()
    limit = 4 * (_highest() + 50)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limits[1]))
    spare = min(SPARE_DESCRIPTORS, limit // 4)
    held: list[int] = []
    with caplog.at_level(logging.INFO):
        while not descriptors.scarce():
            held.append(os.dup(0))
        assert max(held) == limit - spare - 1
        assert descriptors.scarce()
        held += [os.dup(0) for _ in range(spare)]  # those that are not for clients can be had
        assert descriptors.scarce(), "none is left at all"
        for each in held:
            os.close(each)
        assert not descriptors.scarce()
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert f"of {limit} file descriptors the last {spare} are for logs and brokers" in said[0]
    assert "again" in said[1]


def test_a_process_takes_what_it_may_have(limits: tuple[int, int]) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (_highest() + 100, limits[1]))
    raise_limit()
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == limits[1]
