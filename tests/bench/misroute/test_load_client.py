"""What a client's process reports."""

from __future__ import annotations

import sys
import time

import pytest
from bench.misroute.load_client import LoadClient, name_of

_REPORTS = """
print("ready", flush=True)
input()
print("a 0 0 1000 3000", "f 1 0 it took too long", "a 0 1 2000 4000", sep="\\n", flush=True)
print("c 0 0", "c 0 0", "e a defect", sep="\\n", flush=True)
try:
    input()
except EOFError:
    print("a 2 5 5000 6000", "end", sep="\\n", flush=True)
"""


def test_records_are_counted() -> None:
    client = LoadClient([sys.executable, "-c", _REPORTS])
    client.await_ready(60)
    assert client.await_acknowledged([0], 0, 0.01) is None
    client.run(True)
    assert client.await_acknowledged([0], 3_500, 60) == {0: 4_000}
    assert client.await_acknowledged([0], 0, 60) == {0: 3_000}
    client.end()
    assert client.names == {(0, 0), (0, 1), (2, 5)}
    assert [row.partition for row in client.acknowledged] == [0, 0, 2]
    assert (client.failures, client.errors) == (["f 1 0 it took too long"], 1)
    assert client.missed == 3, "two that were not consumed, and one that was consumed twice"


def test_a_client_that_ends_is_not_waited_for() -> None:
    client = LoadClient([sys.executable, "-c", ""])
    began = time.monotonic()
    with pytest.raises(RuntimeError, match="the client is not ready: ended"):
        client.await_ready(300)
    assert client.await_acknowledged([0], 0, 300) is None
    assert time.monotonic() - began < 120
    client.end()


def test_the_name_of_a_record() -> None:
    assert name_of(b"2 17".ljust(100)) == (2, 17)
