from __future__ import annotations

from struct import pack
from typing import Any

from signalbox.protocol.codec.fixed_fields import FixedFields
from signalbox.protocol.codec.source_writer import SourceWriter


def written(out: SourceWriter) -> Any:
    """The generated source as a function (buffer, offset) -> (names, offset)."""
    out.lines = ["def read(b, o):", *(f" {line}" for line in out.lines), " return locals()"]
    return out.run("read")


def test_a_run_is_one_read() -> None:
    out = SourceWriter()
    fixed = FixedFields(out, flexible=False)
    fixed.add("x", "i")
    fixed.add("y", "h")
    fixed.flush()
    fixed.flush()  # no field is pending: nothing is written
    assert len(out.lines) == 2
    found = written(out)(b"--" + pack(">ih", 7, -2), 2)
    assert (found["x"], found["y"], found["o"]) == (7, -2, 8)


def test_an_array_of_numbers_is_read_with_the_following_fields() -> None:
    out = SourceWriter()
    fixed = FixedFields(out, flexible=False)
    fixed.read_length("i")
    fixed.leading_array = ("values", "h")
    fixed.add("x", "i")
    fixed.flush()
    found = written(out)(pack(">ihhhi", 3, 1, 2, 3, 9), 0)
    assert (found["values"], found["x"], found["o"]) == ([1, 2, 3], 9, 14)


def test_a_compact_length_is_a_byte_unless_it_is_long() -> None:
    out = SourceWriter()
    FixedFields(out, flexible=True).read_length("i")
    out.scope["V"] = lambda buffer, offset: (300, offset + 2)
    read = written(out)
    assert [read(b"\x7f", 0)[name] for name in "no"] == [127, 1]
    assert [read(b"\xac\x02", 0)[name] for name in "no"] == [300, 2]
