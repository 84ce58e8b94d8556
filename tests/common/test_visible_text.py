"""Texts of others in our lines: no escape sequences, no lines that look like ours, no passwords."""

from __future__ import annotations

import pytest

from signalbox.common.visible_text import clip, hide, one_line, passwords_in, visible, without_logins


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("an-ordinary.name_1", "an-ordinary.name_1"),
        ("größe 大", "größe 大"),
        ("a\x1b[2Jb", r"a\x1b[2Jb"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x00\x7f\x85\x9b", r"\x00\x7f\x85\x9b"),
        ("\u202eevil\u2066\u2069", r"\u202eevil\u2066\u2069"),
        ("a\u2028b\u2029c", r"a\u2028b\u2029c"),
        ("\ud800", r"\ud800"),
    ],
)
def test_what_cannot_be_printed_is_escaped(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert shown.isprintable()


def test_our_own_line_breaks_stay() -> None:
    assert visible("a\nb\x1b", keep="\n") == "a\nb\\x1b"


def test_a_long_text_keeps_its_begin_and_its_end() -> None:
    text = one_line("h" * 20_000 + ":9092", 100)
    assert len(text) < 110
    assert text.startswith("hhh")
    assert text.endswith("hhh:9092")
    assert one_line("a\nb") == r"a\nb"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("user:S3cret@h:9092", "user:****@h:9092"),
        ("kafka://u:S3cret@h:9092", "kafka://u:****@h:9092"),
        ("a:1,u:S3:c/r@et@h:9092", "a:****@h:9092"),
        ("h:9092,[::1]:9093", "h:9092,[::1]:9093"),
        ("User:alice@REALM;User:bob@REALM", "User:alice@REALM;User:bob@REALM"),
        ("RULE:[1:$1@$0](.*@X)s/@.*//", "RULE:[1:$1@$0](.*@X)s/@.*//"),
        ("https://h:8080/path", "https://h:8080/path"),
    ],
)
def test_a_password_in_an_address_is_hidden(value: str, shown: str) -> None:
    assert hide(value, passwords_in(value)) == shown


def test_a_sentence_about_the_value_has_no_part_of_the_password() -> None:
    value = "u:S3,cr'et\\x@h"
    for problem in (f"{value!r} is no address", "'u:S3' is no address", "'S3,cr\\'et' ..."):
        assert "S3" not in hide(problem, passwords_in(value))


def test_the_login_of_a_url_in_a_sentence() -> None:
    assert (
        without_logins("warehouse is s3://AKIA:S3cret@bucket/x: set a") == "warehouse is s3://AKIA:****@bucket/x: set a"
    )
    assert without_logins("topic:a@b is http://h:80/x") == "topic:a@b is http://h:80/x"


def test_a_long_text_loses_its_end() -> None:
    assert [clip(text, 3) for text in ("", "abc", "abcd")] == ["", "abc", "abc..."]
