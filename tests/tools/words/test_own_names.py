from __future__ import annotations

import pytest
import typer
import typer.main
from tools.words.own_names import command_words, key_words, metric_words, page_words, source_words, words_in

SOURCE = '''"""A docstring is no name."""
class Fence: ...
class _Hidden: ...
def elect(self, leader, *, _private): ...
def _hidden(argument): ...
log.warning("Broker fenced (id=%d)", 1)
print("printed")
'''


def words(found: object) -> list[str]:
    return [word.text for word in found]  # type: ignore[attr-defined]


def test_a_file_has_its_name_its_public_names_and_its_log_messages() -> None:
    found = list(source_words(SOURCE, "src/election.py"))
    assert sorted(words(found)) == ["broker", "elect", "election", "fence", "fenced", "leader", "self"]
    assert next(word.place for word in found if word.text == "fenced") == "src/election.py:6"


def test_a_page_is_read_without_its_code_and_addresses() -> None:
    page = "One `name` and [a link](target.md)\n```\ncode\n```\n<b>bold</b> end"
    found = list(page_words(page, "page.md"))
    assert words(found) == ["one", "and", "link", "bold", "end"]
    assert found[-1].place == "page.md:5"


def test_keys_and_metrics_are_those_that_kafka_does_not_have() -> None:
    assert "audit" in words(key_words())
    assert not any("log.segment" in word.place for word in key_words())
    assert "scrub" in words(metric_words())


def test_commands_are_read_with_their_options_and_their_sub_commands() -> None:
    app = typer.Typer()
    inner = typer.Typer()
    app.add_typer(inner, name="topic")

    @inner.command("describe", help="Shows leaders.")
    def describe(offline: bool = False) -> None: ...

    @app.command("start")
    def start() -> None: ...

    found = list(command_words(typer.main.get_command(app), "prog"))
    assert {"topic", "describe", "shows", "leaders", "offline", "start"} <= set(words(found))
    assert any(word.place == "prog topic describe" for word in found)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("class BrokerChannel", ["class", "broker", "channel"]),
        ("log_end_offset", ["log", "end", "offset"]),
        ("ACLs of two IPs", ["acl", "two"]),
        ("Leader elected (partition=%s, ms=%d)\\n", ["leader", "elected", "partition"]),
        ("commit 6ff0137cac, ce36b504, not facade", ["commit", "not", "facade"]),
        ("see https://example.org/page and 0xff, 16k, U+FFFD", ["see", "and"]),
    ],
)
def test_names_and_sentences_are_divided(text: str, words: list[str]) -> None:
    assert [word.text for word in words_in(text, "here")] == words
    assert {word.place for word in words_in(text, "here")} == {"here"}
