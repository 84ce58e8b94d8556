"""The words that a user meets, compared with three vocabularies: `make words`.

Read are the names that the packages offer, log messages, configuration keys, metrics, the help of the command line and
the pages of the documentation. Each of their words is plain English (the word list of pyspellchecker), a term of
`docs/glossary.md`, or a word of Kafka's own names (messages, keys, metrics, errors). Banned words are those of
`tests/architecture/banned_words.toml`.
"""
