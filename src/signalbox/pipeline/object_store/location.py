"""Where tables are: in a local folder (a Path), or below a prefix of a bucket. `TableLocation` is either, for a
warehouse and for a table; both have `/` and `name`. What a pipeline stores beside its tables is in a local folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_S3 = re.compile(r"s3a?://([^/]*)/*(.*)", re.IGNORECASE)
# The rules of S3 for names of buckets, without those that no name can break by accident.
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


@dataclass(frozen=True, slots=True)
class S3Location:
    """`s3://bucket/key`; `key` has no slash at its begin or end, it may be empty."""

    bucket: str
    key: str = ""

    def __truediv__(self, name: str) -> S3Location:
        return S3Location(self.bucket, f"{self.key}/{name}" if self.key else name)

    def __str__(self) -> str:
        return f"s3://{self.path}"

    @property
    def name(self) -> str:
        """The last component of the key."""
        return self.key.rpartition("/")[2]

    @property
    def path(self) -> str:
        """`bucket/key`, as Arrow's file system takes it."""
        return f"{self.bucket}/{self.key}" if self.key else self.bucket

    def with_name(self, name: str) -> S3Location:
        """The location beside this one, as of a Path."""
        return S3Location(self.bucket, f"{self.key.rpartition('/')[0]}/{name}".lstrip("/"))

    def absolute(self) -> S3Location:
        """Itself: it depends on no working directory."""
        return self

    def faults(self) -> list[str]:
        """What is wrong with the location of a warehouse."""
        if _BUCKET.fullmatch(self.bucket) is None:
            return [f"warehouse is {self}: {self.bucket!r} is no name of a bucket, give s3://bucket/prefix"]
        return []


TableLocation = Path | S3Location


def location_of(text: str) -> TableLocation:
    """A location as it is written on a command line: `s3://bucket/prefix` (or Hadoop's `s3a://`), or a path."""
    match = _S3.fullmatch(text)
    return S3Location(match[1], match[2].strip("/")) if match else Path(text)
