"""Opens Delta tables wherever they are: the one place where a folder and an object store differ for delta-rs and Arrow.

Failures of a store are raised as StoreError, in one sentence that names the table, the reason and what to change.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyarrow import fs

from signalbox.pipeline.object_store.location import S3Location, TableLocation
from signalbox.pipeline.object_store.parquet_files import store_file_system
from signalbox.pipeline.object_store.settings import StoreSettings


class StoreError(RuntimeError):
    """An object store that rejects requests or cannot be reached."""


# The first pattern that the text of a failure has: delta-rs shows the store's response, Arrow the name of the error.
_REASONS = (
    (r"NoSuchBucket|NO_SUCH_BUCKET", "there is no bucket {bucket}: create it, or name another one in the warehouse"),
    (
        r"169\.254\.169\.254|no providers in chain",
        "there is no login: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    ),
    (
        r"InvalidAccessKeyId|INVALID_ACCESS_KEY_ID|SignatureDoesNotMatch|SIGNATURE_DOES_NOT_MATCH|InvalidToken|ExpiredToken",
        "the store rejects the login: check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN",
    ),
    (
        r"PermanentRedirect|AuthorizationHeaderMalformed|301 Moved",
        "the bucket is in another region than {region}: set AWS_REGION",
    ),
    (
        r"AccessDenied|ACCESS_DENIED|40[13] |lacked the necessary privileges",
        "the user of AWS_ACCESS_KEY_ID has no access: it must list the bucket, and read, write and delete objects",
    ),
    (
        r"SlowDown|SLOW_DOWN|ServiceUnavailable|SERVICE_UNAVAILABLE|INTERNAL_FAILURE|InternalError|\b50[0234]\b",
        "the store answers with errors (503, overloaded), also to repeated requests: run again when it has recovered",
    ),
    (
        r"(?i)connect error|connection refused|dns error|NETWORK_CONNECTION|timed out|timeout|curlCode|sending request",
        "the store {endpoint} cannot be reached, or does not answer in time: check AWS_ENDPOINT_URL, then run again",
    ),
)


def _settings() -> StoreSettings:
    return StoreSettings.of_environment(os.environ)


def store_error(location: S3Location, text: str) -> StoreError | None:
    """The error for the text of a failure; None if it is no failure of the store."""
    for pattern, reason in _REASONS:
        if re.search(pattern, text):
            settings = _settings()
            sentence = reason.format(
                bucket=location.bucket, region=settings.region, endpoint=settings.endpoint or "of AWS"
            )
            return StoreError(f"{location}: {sentence}; no row is lost, the next run goes on where this one stopped")
    return None


@contextmanager
def store_faults(location: TableLocation, *others: type[Exception]) -> Iterator[None]:
    """Raises failures of the location's store as StoreError, other ones as they are. `others`: further classes of
    exceptions that may carry a failure of the store."""
    kinds: tuple[type[Exception], ...] = (OSError, DeltaError, *others)
    try:
        yield
    except kinds as error:
        fault = store_error(location, str(error)) if isinstance(location, S3Location) else None
        if fault is None:
            raise
        raise fault from error


def storage_options(location: TableLocation) -> dict[str, str] | None:
    """The options of delta-rs for a location; None for a folder."""
    return _settings().storage_options() if isinstance(location, S3Location) else None


def file_system(location: TableLocation) -> fs.FileSystem:
    """Arrow's own file system, with the location as its root. That of delta-rs is written in Python: Arrow's threads
    may still need the interpreter when it shuts down, and abort the process."""
    if isinstance(location, S3Location):
        return fs.SubTreeFileSystem(location.path, store_file_system(_settings()))
    return fs.SubTreeFileSystem(str(location), fs.LocalFileSystem())


def table_exists(location: TableLocation) -> bool:
    """True if there is a Delta table. Raises StoreError."""
    if isinstance(location, Path):
        return (location / "_delta_log").is_dir() and DeltaTable.is_deltatable(str(location))
    with store_faults(location):
        return DeltaTable.is_deltatable(str(location), storage_options(location))


def open_table(location: TableLocation) -> DeltaTable:
    """The newest version of a table. Raises StoreError."""
    with store_faults(location):
        return DeltaTable(str(location), storage_options=storage_options(location))
