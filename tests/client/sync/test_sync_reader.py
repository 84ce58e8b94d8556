from __future__ import annotations

import inspect
from typing import Any

import pytest

from signalbox.client.consumer import Consumer
from signalbox.client.group_consumer.group_consumer import GroupConsumer
from signalbox.client.sync.sync_consumer import SyncConsumer
from signalbox.client.sync.sync_group_consumer import SyncGroupConsumer

# for the group consumer and interrupted polls; `SyncClient` makes the consumers in place of `of`
INTERNAL = {"add", "give_back", "of", "offset_at", "positions", "remove", "take", "wait_for_records"}


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize(("face", "consumer"), [(SyncConsumer, Consumer), (SyncGroupConsumer, GroupConsumer)])
def test_every_public_method_is_there_without_an_event_loop(face: type, consumer: type) -> None:
    assert public(face) == public(consumer) - INTERNAL


@pytest.mark.parametrize(("face", "consumer"), [(SyncConsumer, Consumer), (SyncGroupConsumer, GroupConsumer)])
def test_the_parameters_are_the_same(face: Any, consumer: Any) -> None:
    for name in public(face):
        ours, theirs = (inspect.getattr_static(kind, name) for kind in (face, consumer))
        assert isinstance(ours, property) == isinstance(theirs, property), name
        if not isinstance(ours, property):
            assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters), name
