"""The drill: twelve misroutes that users of Kafka have had, each caused on purpose while a client produces (SPEC R7).

A client passes a story if no acknowledged record is lost, none is stored twice, none is in another cluster, the brokers
that are reachable keep getting its records, and it goes on without a restart when the routes are right again.
"""

from __future__ import annotations

from signalbox.testing.drill.command_client import CommandClient
from signalbox.testing.drill.drill import run_drill
from signalbox.testing.drill.drill_client import DrillClient, SignalboxProducer, StartClient
from signalbox.testing.drill.report import json_report, text_report
from signalbox.testing.drill.stories import STORIES, Story
from signalbox.testing.drill.story_result import StoryResult

__all__ = [
    "STORIES",
    "CommandClient",
    "DrillClient",
    "SignalboxProducer",
    "StartClient",
    "Story",
    "StoryResult",
    "json_report",
    "run_drill",
    "text_report",
]
