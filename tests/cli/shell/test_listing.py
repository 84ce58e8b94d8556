"""Listings as tables and as JSON."""

from __future__ import annotations

import json

from signalbox.cli.shell.listing import Listing, cell_text, json_text


def test_cells_keep_their_types_in_json_and_are_texts_in_a_table() -> None:
    listing = Listing("broker", "in sync", "client-id", "is up")
    listing.add(1, [3, 2], None, True)
    listing.add("x", (), "a", False)
    assert listing.texts() == [["1", "3,2", "", "yes"], ["x", "", "a", ""]]
    assert json.loads(json_text(listing)) == [
        {"broker": 1, "in_sync": [3, 2], "client_id": None, "is_up": True},
        {"broker": "x", "in_sync": [], "client_id": "a", "is_up": False},
    ]


def test_a_document_has_listings_and_facts() -> None:
    listing = Listing("name")
    listing.add("a")
    document = {"cluster id": "c", "brokers": listing, "nested": {"n": 1}, "other": object}
    assert json.loads(json_text(document)) == {
        "cluster_id": "c",
        "brokers": [{"name": "a"}],
        "nested": {"n": 1},
        "other": "<class 'object'>",
    }


def test_a_cell_has_no_escape_sequences_and_json_is_exact() -> None:
    listing = Listing("name", "hosts")
    listing.add("a\x1b[2J\nb", ["\x00", "\u202eh"])
    assert listing.texts() == [[r"a\x1b[2J\nb", r"\x00,\u202eh"]]
    assert json.loads(json_text(listing)) == [{"name": "a\x1b[2J\nb", "hosts": ["\x00", "\u202eh"]}]


def test_numbers_are_not_flags() -> None:
    assert [cell_text(cell) for cell in (0, 1, 1.5, "0")] == ["0", "1", "1.5", "0"]
