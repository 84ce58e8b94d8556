from __future__ import annotations

from pathlib import Path

from tools.words.vocabulary import Vocabulary, glossary_words, kafka_words, vocabulary

PAGE = """# Glossary

| term | meaning |
|---|---|
| misroute | a connection that reached another node than the client meant |
| SQLite | a library |
"""


def test_only_the_terms_of_the_glossary_are_words_not_what_explains_them() -> None:
    words = set(glossary_words(PAGE))
    assert {"misroute", "sqlite"} <= words
    assert words.isdisjoint({"connection", "library"})


def test_kafka_words_come_from_messages_keys_errors_and_metrics() -> None:
    words = set(kafka_words())
    assert {"isr", "topics", "sasl", "jaas", "unsupported", "replicamanager", "isrshrinks"} <= words
    assert "signalbox" not in words  # own keys and metrics do not count


def test_a_plural_of_a_term_is_known() -> None:
    known = Vocabulary(frozenset({"leader"}), {"misroute"})
    assert all(word in known for word in ("leader", "misroute", "misroutes"))
    assert "leeder" not in known


def test_the_three_vocabularies_together(tmp_path: Path) -> None:
    page = tmp_path / "glossary.md"
    page.write_text(PAGE)
    known = vocabulary(page)
    assert all(word in known for word in ("connection", "misroute", "isr"))
    assert "qwyx" not in known
