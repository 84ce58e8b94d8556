"""Banned words: where they match, and where the same letters are in order."""

from __future__ import annotations

import pytest

from tests.architecture.banned_words import Rule, banned_words, load_rules
from tests.architecture.source_tree import SourceFile

RULE = Rule(("cat", "big cat"), "dog", unless=("cat food",), not_in=("docs/zoo*",))
NAMES = Rule(("cat",), "dog", where="names")
IDENTIFIERS = Rule(("Cat",), "Dog", where="identifiers")


def lines_of(rule: Rule, text: str, path: str = "src/a.py") -> list[int]:
    return [place.line for excess in banned_words([SourceFile(path, text)], [rule]) for place in excess.places]


@pytest.mark.parametrize("text", ["cat", "my_cat = 1", "_cat_count", "class BigCat:", "BIG_CAT", "# cat", "'a cat'"])
def test_a_word_is_found_in_names_and_in_text(text: str) -> None:
    assert lines_of(RULE, text) == [1]


@pytest.mark.parametrize("text", ["concat", "category", "Category", "SCAT", "cat food", "CAT_FOOD"])
def test_parts_of_other_words_and_allowed_phrases_are_in_order(text: str) -> None:
    assert lines_of(RULE, text) == []


def test_an_allowed_phrase_allows_nothing_else_on_its_line() -> None:
    assert lines_of(RULE, "cat food for the cat") == [1]


def test_names_are_searched_only_in_code() -> None:
    assert lines_of(NAMES, '"""A cat."""\nx = "cat"  # a cat\nmy_cat = 1\n') == [3]
    assert lines_of(NAMES, "A cat.", "docs/a.md") == []


def test_identifiers_are_whole_names_in_their_case() -> None:
    assert lines_of(IDENTIFIERS, "Cat\n_Cat\nCatFood\ncat\n# Cat\n") == [1, 2]


def test_a_file_where_the_word_has_another_meaning_is_passed_over() -> None:
    assert lines_of(RULE, "cat", "docs/zoo.md") == []


def test_the_place_has_the_line_and_the_replacement() -> None:
    (excess,) = banned_words([SourceFile("src/a.py", "\ncat, cat\n")], [RULE])
    assert (excess.key, excess.figure) == ("src/a.py", 2)
    assert str(excess.places[0]) == "src/a.py:2: `cat` is a banned word: use dog"


def test_each_rule_finds_its_words() -> None:
    for rule in load_rules():
        for word in rule.words:
            assert lines_of(rule, word.replace(" ", "_")) == [1], word
