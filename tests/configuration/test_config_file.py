"""Files that are not valid configurations: one sentence of error each, never a traceback."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from signalbox.common.limits import MAX_CONFIG_FILE_BYTES
from signalbox.configuration.config_file import ConfigFileError, read_config_file


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("node.id=1\n".encode("utf-16"), "it is UTF-16; save it as UTF-8"),
        ("node.id=1\n".encode("utf-16-be"), "line 1 holds a NUL; this is no text file"),
        (b"node.id=1\n# caf\xe9\n", "line 2 holds the byte 0xe9, which is not UTF-8. Save the file as UTF-8, or"),
        (b"\x7fELF\x02\x01\x01\x00\xff", "line 1 holds the byte 0xff"),
        (b"a=1\nb=\0\n", "line 2 holds a NUL"),
        (b"a=" + b"x" * MAX_CONFIG_FILE_BYTES, "File too large"),
        (b"a=1\nb=\\u12\n", "s.properties:2: \\u12 is not a character"),
        (b"a=\\ud800\n", "s.properties:1: a \\u escape from d800 to dfff is half a character"),
    ],
    ids=[
        "UTF-16",
        "UTF-16 without a mark",
        "Latin-1",
        "a program",
        "a NUL",
        "endless",
        "an escape",
        "half a character",
    ],
)
def test_contents(tmp_path: Path, data: bytes, problem: str) -> None:
    file = tmp_path / "s.properties"
    file.write_bytes(data)
    with pytest.raises(ConfigFileError) as rejected:
        read_config_file(file)
    assert str(rejected.value).startswith(f"{file} cannot be read: ")
    assert problem in str(rejected.value)


def test_places_that_hold_no_file(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.write_text("a=1")
    locked.chmod(0)
    problems = {}
    for path in (tmp_path / "nowhere", tmp_path, Path("a\0b"), locked, Path("/dev/zero")):
        try:
            read_config_file(path)
        except ConfigFileError as error:
            problems[str(path)] = str(error).partition(" cannot be read: ")[2]
    assert problems[str(tmp_path / "nowhere")] == "No such file or directory"
    assert problems[str(tmp_path)] == "Is a directory"
    assert "null byte" in problems["a\0b"] or "null character" in problems["a\0b"]
    assert problems["/dev/zero"] == "File too large"
    if os.geteuid():  # a user who may read every file can read this one too
        assert problems[str(locked)] == "Permission denied"


def test_what_is_read(tmp_path: Path) -> None:
    file = tmp_path / "s.properties"
    file.write_bytes("\ufeffnode.id=1\r\nbroker.rack=é\\ud83d\\ude00\u2028b\rnum.partitions=2".encode())
    found = read_config_file(file, ["num.partitions=3", "log.dirs=/a,\\", "auto.create.topics.enable"])
    assert found.values == {
        "node.id": "1",
        "broker.rack": "é😀\u2028b",
        "num.partitions": "3",
        "log.dirs": "/a,",
        "auto.create.topics.enable": "",
    }
    assert (found.where("broker.rack"), found.where("num.partitions")) == (f"{file}:2", "--override")
    with pytest.raises(ConfigFileError, match="--override:1"):
        read_config_file(file, ["a=\\uxyz"])
