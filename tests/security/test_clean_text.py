from __future__ import annotations

import base64
import tracemalloc

import pytest

from signalbox.security.clean_text import MAX_TEXT, TextCleaner, clean_name, secrets_of

SECRET = "p\u00e4ss wörd+/="


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode().rstrip("="),
        SECRET.encode().hex(),
        "p%C3%A4ss%20w%C3%B6rd%2B%2F%3D",
    ],
)
def test_a_secret_is_hidden_in_each_encoding(form: str) -> None:
    cleaned = TextCleaner([SECRET]).clean(f"user alice with {form} is unknown")
    assert cleaned == "user alice with [hidden] is unknown"


def test_a_secret_that_is_split_by_control_characters_does_not_show_whole() -> None:
    assert SECRET not in TextCleaner([SECRET]).clean(SECRET[:3] + "\x00" + SECRET[3:])


def test_control_characters_and_directions_become_question_marks() -> None:
    assert TextCleaner().clean("a\x1b[31mb\nc\u202ed\u200b\u2028") == "a?[31mb?c?d??"


def test_long_texts_are_cut() -> None:
    cleaned = TextCleaner().clean("x" * 10_000)
    assert len(cleaned) == MAX_TEXT
    assert cleaned.endswith("...")


def test_only_the_beginning_of_a_long_text_is_read() -> None:
    text = "x" * 4_000_000
    tracemalloc.start()
    try:
        TextCleaner([SECRET]).clean(text)
        (_, peak_bytes) = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 1_000_000


def test_secrets_do_not_show_at_the_end_of_a_text_that_is_cut() -> None:
    """What is hidden becomes shorter, and must not bring a part of the next secret into the text."""
    token = "t0ken" * 300
    cleaner = TextCleaner([token])
    assert cleaner.clean(token * 3) == "[hidden]..."
    assert "t0ken" not in cleaner.clean("x" * (MAX_TEXT - 2) + token)


def test_the_message_of_plain_is_hidden_in_base64() -> None:
    message = base64.b64encode(b"\0alice\0correct-horse").decode()
    assert TextCleaner(["correct-horse"]).clean(message) == "AGFsaWNlAG[hidden]U="


@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
def test_a_secret_inside_of_a_longer_text_in_base64(before: str) -> None:
    encoded = base64.b64encode(f"{before}hush-hush and more".encode()).decode()
    assert "[hidden]" in TextCleaner(["hush-hush"]).clean(encoded)


def test_a_short_secret_is_hidden_as_a_word_only() -> None:
    cleaner = TextCleaner(["ab", "1"])
    assert cleaner.clean("about 21 cabs") == "about 21 cabs"
    assert cleaner.clean("password ab, or 1") == "password [hidden], or [hidden]"


def test_a_secret_that_is_known_later() -> None:
    cleaner = TextCleaner()
    assert cleaner.clean("a token") == "a token"
    cleaner.hide("token")
    assert cleaner.clean("a token") == "a [hidden]"


def test_names_keep_what_looks_like_a_secret() -> None:
    assert clean_name("kafka-1.example.com\x1b\ufffe") == "kafka-1.example.com??"


def test_the_secrets_in_client_properties() -> None:
    properties = {
        "sasl.jaas.config": 'M required username="u" password="jaas" clientSecret="oauth" mySecretKey="own";',
        "ssl.key.password": "key",
        "ssl.truststore.location": "/path",
    }
    assert set(secrets_of(properties)) == {"jaas", "oauth", "own", "key"}
    assert secrets_of({"sasl.jaas.config": "not a login module"}) == []
