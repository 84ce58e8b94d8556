"""ApiVersions on the fast path: client software names. Equality with the generic path: test_fast_path.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker.fast_path.test_fast_path import ApiVersionsCall, FastPathPair, twins_in


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[FastPathPair]:
    with twins_in(tmp_path) as pair:
        yield pair


def test_another_name_is_taken_note_of(pair: FastPathPair) -> None:
    for name in ("first", "first", "first", "other", "other", "first"):
        pair.send(ApiVersionsCall(3, name))
        assert pair.fast.connections[0].context.client_software_name == name
        assert pair.generic.connections[0].context.client_software_name == name


def test_an_invalid_name_never_takes_the_fast_path(pair: FastPathPair) -> None:
    for _ in range(4):
        pair.send(ApiVersionsCall(3, "-bad"))
    assert pair.fast.hits == 0
