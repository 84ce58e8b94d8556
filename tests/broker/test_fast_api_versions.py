"""ApiVersions on the fast path: client software names. Equality with the generic path: test_fast_path.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker.test_fast_path import AskVersions, Twins, twins_in


@pytest.fixture
def twins(tmp_path: Path) -> Iterator[Twins]:
    with twins_in(tmp_path) as pair:
        yield pair


def test_another_name_is_taken_note_of(twins: Twins) -> None:
    for name in ("first", "first", "first", "other", "other", "first"):
        twins.send(AskVersions(3, name))
        assert twins.hot.connections[0].context.client_software_name == name
        assert twins.generic.connections[0].context.client_software_name == name


def test_a_bad_name_is_never_hot(twins: Twins) -> None:
    for _ in range(4):
        twins.send(AskVersions(3, "-bad"))
    assert twins.hot.hits == 0
