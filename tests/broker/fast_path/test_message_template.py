from __future__ import annotations

import pytest

from signalbox.broker.fast_path.message_template import (
    ResponseTemplate,
    constants_of,
    fixed_layout,
    mark,
    request_constants,
)
from signalbox.broker.fast_path.request_templates import KEY_AT


@pytest.mark.parametrize(
    ("encoded", "constants"),
    [
        (b"a" + mark(0) + b"b" + mark(1), [b"a", b"b", b""]),
        (b"a" + mark(1) + b"b" + mark(0), None),
        (b"a" + mark(0) + b"b", None),
        (mark(0) + mark(0) + mark(1), None),
    ],
)
def test_each_mark_occurs_once_and_in_order(encoded: bytes, constants: list[bytes] | None) -> None:
    assert constants_of(encoded, [mark(0), mark(1)]) == constants


def test_a_request_in_another_encoding_has_no_constants() -> None:
    marked = b"head" + mark(0) + b"tail"
    assert request_constants(memoryview(b"head123tail"), marked, [mark(0)], [b"123"]) == [b"head", b"tail"]
    assert request_constants(memoryview(b"head123tail and more"), marked, [mark(0)], [b"123"]) is None
    assert request_constants(memoryview(b"head123tai"), marked, [mark(0)], [b"123"]) is None
    assert request_constants(memoryview(b"head124tail"), marked, [mark(0)], [b"123"]) is None


def test_skipped_bytes_are_not_compared() -> None:
    marked = b"head" + mark(0) + b"and" + mark(1) + b"tail"
    marks, lengths = [mark(0), mark(1)], [b"3", b"2"]
    constants = [b"head", b"and", b"tail"]
    assert request_constants(memoryview(b"head3???and2??tail"), marked, marks, lengths, [3, 2]) == constants
    assert request_constants(memoryview(b"head3???and1??tail"), marked, marks, lengths, [3, 2]) is None
    assert request_constants(memoryview(b"head3???or2???tail"), marked, marks, lengths, [3, 2]) is None
    assert request_constants(memoryview(b"head3???and2??tail"), marked, marks, lengths, [3, 3]) is None


def test_a_layout_leaves_out_the_variable_parts() -> None:
    frame = memoryview(bytes(KEY_AT) + b"client" + b"head" + b"1234" + b"middle" + b"12345678" + b"tail")
    layout = fixed_layout(KEY_AT + 6, [b"head", b"middle", b"tail"], [4, 8])
    assert [bytes(frame[part]) for part in layout] == [b"clienthead", b"middle", b"tail"]


def test_numbers_are_filled_in() -> None:
    example = bytes(4) + b"head" + mark(0) + b"middle" + mark(1) + b"tail"
    template = ResponseTemplate.build(example, [mark(0), mark(1)], 1)
    assert template is not None
    filled = (9).to_bytes(4) + b"head" + (1).to_bytes(8) + b"middle" + (2).to_bytes(8) + b"tail"
    assert template.many_groups(9, [(1,), (2,)]) == len(filled).to_bytes(4) + filled


def test_a_size_counts_the_bytes_that_follow() -> None:
    template = ResponseTemplate.build(bytes(4) + mark(0), [mark(0)], 1)
    assert template is not None
    assert template.one_group(9, (1,), 100) == (112).to_bytes(4) + (9).to_bytes(4) + (1).to_bytes(8)
