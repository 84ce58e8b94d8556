"""Locations as they are written, and the paths that they are put together to."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.pipeline.object_store.location import S3Location, location_of

pytestmark = pytest.mark.spec("P10")


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("s3://bucket/lake", S3Location("bucket", "lake")),
        ("s3a://bucket/a/b/", S3Location("bucket", "a/b")),
        ("S3://bucket", S3Location("bucket")),
        ("lake", Path("lake")),
        ("/tmp/s3:/lake", Path("/tmp/s3:/lake")),
        ("hdfs://host/lake", Path("hdfs://host/lake")),
    ],
)
def test_a_location_is_a_prefix_of_a_bucket_or_a_folder(text: str, location: Path | S3Location) -> None:
    assert location_of(text) == location


def test_tables_are_below_the_warehouse() -> None:
    table = S3Location("bucket", "lake") / "flights"
    assert (str(table), table.path, table.name) == ("s3://bucket/lake/flights", "bucket/lake/flights", "flights")
    assert str(S3Location("bucket") / "flights") == "s3://bucket/flights"
    assert table.absolute() is table


def test_a_name_that_no_bucket_has_is_a_fault() -> None:
    assert S3Location("my-bucket.a1").faults() == []
    for name in ("", "A", "a_b", "-ab", "a" * 64):
        assert S3Location(name, "lake").faults() == [
            f"warehouse is s3://{name}/lake: {name!r} is no name of a bucket, give s3://bucket/prefix"
        ]
