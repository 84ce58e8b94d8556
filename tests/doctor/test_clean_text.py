from __future__ import annotations

import base64

import pytest

from signalbox.doctor.clean_text import MAX_TEXT, TextCleaner, secrets_of

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


def test_the_secrets_in_client_properties() -> None:
    properties = {
        "sasl.jaas.config": 'M required username="u" password="jaas" clientSecret="oauth" mySecretKey="own";',
        "ssl.key.password": "key",
        "ssl.truststore.location": "/path",
    }
    assert set(secrets_of(properties)) == {"jaas", "oauth", "own", "key"}
    assert secrets_of({"sasl.jaas.config": "not a login module"}) == []
