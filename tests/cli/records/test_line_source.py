"""Lines as they arrive, of pipes, files and streams in memory."""

from __future__ import annotations

import asyncio
import io
import os
from pathlib import Path
from typing import BinaryIO

import pytest

from signalbox.cli.records.line_source import lines_of


async def every_line(stream: BinaryIO) -> list[bytes]:
    return [line async for line in lines_of(stream)]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"a\n", [b"a"]),
        (b"a\n\nb", [b"a", b"", b"b"]),
        (b"x" * 200_000 + b"\ny\n", [b"x" * 200_000, b"y"]),
    ],
)
def test_the_lines_of_a_file_and_of_memory(content: bytes, lines: list[bytes], tmp_path: Path) -> None:
    assert asyncio.run(every_line(io.BytesIO(content))) == lines
    file = tmp_path / "lines"
    file.write_bytes(content)
    with file.open("rb") as stream:
        assert asyncio.run(every_line(stream)) == lines


def test_a_line_of_a_pipe_is_there_before_the_pipe_ends() -> None:
    async def read() -> list[bytes]:
        readable, writable = os.pipe()
        with os.fdopen(readable, "rb") as stream, os.fdopen(writable, "wb", buffering=0) as sender:
            lines = lines_of(stream)
            sender.write(b"first\nse")
            received = [await asyncio.wait_for(anext(lines), 60)]
            sender.write(b"cond\n")
            received.append(await asyncio.wait_for(anext(lines), 60))
            await lines.aclose()
            return received

    assert asyncio.run(read()) == [b"first", b"second"]
