"""The reference pages match the tables."""

from pathlib import Path

import pytest

from signalbox.client.config_rows import CLIENT_CONFIG
from signalbox.common.audit_event import AuditKind
from signalbox.configuration.check.without_effect import WITHOUT_EFFECT
from signalbox.configuration.configuration import NODE_CONFIG
from signalbox.server.reference.pages import PAGES, audit_page, configuration_page

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("name", sorted(PAGES))
def test_the_page_is_current(name: str) -> None:
    assert (DOCS / name).read_text() == PAGES[name]()


def test_every_key_of_a_node_has_a_line() -> None:
    page = configuration_page()
    assert [row.name for row in NODE_CONFIG if f"| `{row.name}` |" not in page] == []


def test_every_key_of_a_client_has_a_line_of_its_own() -> None:
    section = configuration_page().partition("## Signalbox clients")[2]
    assert [row.name for row in CLIENT_CONFIG if f"| `{row.name}` |" not in section] == []


def test_keys_without_effect_say_so() -> None:
    lines = [line for line in configuration_page().splitlines() if "No effect yet: " in line]
    assert {line.split("`")[1] for line in lines} == set(WITHOUT_EFFECT)


def test_every_kind_of_event_is_explained() -> None:
    page = audit_page()
    assert [kind for kind in AuditKind if f"| `{kind.value}` |" not in page] == []
