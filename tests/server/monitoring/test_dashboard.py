"""The dashboard shows every family of the table of metrics, and asks for nothing else."""

from __future__ import annotations

import json
import re
from itertools import combinations
from typing import Any

from signalbox.server.metrics.metric_table import METRIC_ROWS, PAGE_NAMES
from signalbox.server.monitoring.dashboard import dashboard, queries
from signalbox.server.monitoring.dashboard_table import FIRST_PANELS

BOARD = json.loads(dashboard())
FIRST = [panel for panel in BOARD["panels"] if panel["type"] != "row"]
COLLAPSED = [panel for panel in BOARD["panels"] if panel["type"] == "row"]
ALL: list[dict[str, Any]] = [*BOARD["panels"], *(inner for row in COLLAPSED for inner in row["panels"])]
_NAME = re.compile(r"\b(?:kafka|signalbox|process)_\w+")


def test_every_family_has_a_panel_in_a_row_of_its_type() -> None:
    assert sum(len(row["panels"]) for row in COLLAPSED) == len(METRIC_ROWS)
    shown = {name for panel in COLLAPSED for query in queries(panel["panels"]) for name in _NAME.findall(query)}
    assert [row.names[0] for row in METRIC_ROWS if not {row.names[0], f"{row.names[0]}_sum"} & shown] == []


def test_queries_ask_for_metrics_of_the_page_alone() -> None:
    asked = {name for query in queries(BOARD["panels"]) for name in _NAME.findall(query)}
    assert asked <= PAGE_NAMES


def test_ids_are_unique_and_panels_do_not_overlap() -> None:
    ids = [panel["id"] for panel in ALL]
    assert len(set(ids)) == len(ids)
    places = [panel["gridPos"] for panel in BOARD["panels"]]
    assert all(place["x"] + place["w"] <= 24 for place in places)
    assert not [(one, two) for one, two in combinations(places, 2) if overlap(one, two)]


def overlap(one: dict[str, int], two: dict[str, int]) -> bool:
    beside = one["x"] + one["w"] <= two["x"] or two["x"] + two["w"] <= one["x"]
    below = one["y"] + one["h"] <= two["y"] or two["y"] + two["h"] <= one["y"]
    return not beside and not below


def test_the_first_panels_are_those_of_the_table() -> None:
    assert [panel["title"] for panel in FIRST] == [panel.title for panel in FIRST_PANELS]
    assert all(panel["description"] and panel["targets"] for panel in FIRST)


def test_units_and_legends() -> None:
    panels = {panel["title"]: panel for row in COLLAPSED for panel in row["panels"]}
    assert panels["BytesInPerSec, per second"]["fieldConfig"]["defaults"]["unit"] == "Bps"
    assert panels["TotalTimeMs, 99th percentile"]["fieldConfig"]["defaults"]["unit"] == "ms"
    assert panels["RequestBytes, mean"]["targets"][0]["legendFormat"] == "{{instance}} {{request}}"
