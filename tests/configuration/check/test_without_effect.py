"""Every config row is read by some code, or is listed as having no effect."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest

import signalbox
from signalbox.client.config_rows import CLIENT_CONFIG
from signalbox.common.config.topic_config import TOPIC_CONFIG
from signalbox.configuration.check.without_effect import WITHOUT_EFFECT
from signalbox.configuration.configuration import NODE_CONFIG
from signalbox.controller.config_rows import ControllerSettings
from signalbox.coordinator.config_rows import GroupSettings, RuntimeSettings
from signalbox.replication.config_rows import ReplicationConfig
from signalbox.storage.log_config import LogConfig

SOURCES = Path(signalbox.__file__).parent
# Packages that set configs of other processes, and the lists themselves.
NOT_READERS = (
    "testing/",
    "cli/",
    "pipeline/",
    "configuration/check/without_effect.py",
    "configuration/check/keys_of_kafka.py",
    "server/reference/",
)
# The topics' rows repeat broker keys as synonyms. A package's rows may be in the file that reads them: there a name
# must occur twice. A row of the same name in another package is another key.
TOPIC_ROWS = "common/config/topic_config.py"
TABLES = {"a node": NODE_CONFIG, "a topic": TOPIC_CONFIG, "a client": CLIENT_CONFIG}
SETTINGS = (ControllerSettings, GroupSettings, LogConfig, ReplicationConfig, RuntimeSettings)


@cache
def sources() -> dict[str, ast.Module]:
    """The syntax tree of every file of the package, by path."""
    return {str(path.relative_to(SOURCES)): ast.parse(path.read_text()) for path in SOURCES.rglob("*.py")}


@cache
def texts_read() -> Counter[str]:
    """How often a text occurs in the sources where it may be a key that is read."""
    found: Counter[str] = Counter()
    for path, tree in sources().items():
        if path == TOPIC_ROWS or path.startswith(NOT_READERS):
            continue
        texts = Counter(node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
        spare = 1 if path.endswith("config_rows.py") else 0
        found.update({text: times - spare for text, times in texts.items() if isinstance(text, str)})
    return found


@cache
def attributes_read() -> set[str]:
    return {node.attr for tree in sources().values() for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def is_read(name: str) -> bool:
    """True if some code names the key, or the topic config whose default it is."""
    topics = [row.name for row in TOPIC_CONFIG if row.synonym == name]
    return any(texts_read()[text] > 0 for text in (name, *topics))


@pytest.mark.parametrize("whose", TABLES)
def test_a_key_is_read_or_known_to_have_no_effect(whose: str) -> None:
    names = [row.name for row in TABLES[whose]]
    assert [name for name in names if not is_read(name) and name not in WITHOUT_EFFECT] == []
    assert [name for name in names if is_read(name) and name in WITHOUT_EFFECT] == []


def test_what_has_no_effect_is_a_key() -> None:
    known = {row.name for table in TABLES.values() for row in table}
    assert [name for name in WITHOUT_EFFECT if name not in known] == []


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: settings.__name__)
def test_what_is_read_into_settings_is_looked_at(settings: type) -> None:
    assert [field.name for field in fields(settings) if field.name not in attributes_read()] == []


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("num.partitions", True),
        ("log.retention.hours", True),
        ("log.segment.bytes", True),
        ("log.local.retention.ms", False),
        ("no.such.key", False),
    ],
)
def test_how_it_is_known(name: str, read: bool) -> None:
    assert is_read(name) is read
