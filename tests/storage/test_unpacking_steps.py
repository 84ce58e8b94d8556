"""Steps of work on a batch that is decompressed in a thread."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from signalbox.common.limits import UNPACKED_AT_ONCE_BYTES
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.compression import compress
from signalbox.storage.unpacking_steps import UnpackingSteps, Work, decompress_at_once

pytestmark = pytest.mark.spec("D1")


def in_two_steps() -> Generator[Work, Any, list[Any]]:
    results = [(yield lambda: "first")]
    try:
        yield _fail
    except KafkaError as error:
        results.append(error.error)
    return results


def _fail() -> None:
    raise KafkaError(Error.CORRUPT_MESSAGE, "not a batch")


def started() -> UnpackingSteps[list[Any]]:
    generator = in_two_steps()
    return UnpackingSteps(generator, next(generator), 100)


def test_results_and_errors_of_the_thread_are_passed_to_the_steps() -> None:
    assert started().finish() == ["first", Error.CORRUPT_MESSAGE]
    steps = started()
    assert steps.resume("other") is None
    assert steps.resume(KafkaError(Error.UNKNOWN_SERVER_ERROR)) == ["other", Error.UNKNOWN_SERVER_ERROR]


@pytest.mark.parametrize("name", ["gzip", "snappy", "lz4", "zstd"])
def test_small_batches_are_decompressed_at_once(name: str) -> None:
    assert decompress_at_once(name, compress(name, bytes(UNPACKED_AT_ONCE_BYTES))) == bytes(UNPACKED_AT_ONCE_BYTES)
    assert decompress_at_once(name, compress(name, bytes(UNPACKED_AT_ONCE_BYTES + 1))) is None
    assert decompress_at_once(name, compress(name, bytes(1_000)), 999) is None
    assert decompress_at_once(name, bytes(UNPACKED_AT_ONCE_BYTES + 1)) is None, "too large before"
    with pytest.raises(KafkaError, match="payload cannot be read"):
        decompress_at_once(name, b"not compressed")
