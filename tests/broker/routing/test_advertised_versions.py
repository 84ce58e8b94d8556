"""Advertised versions: all routes; forwardable APIs limited to the controller's versions; only the APIs of C4 on a
forced control plane."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from signalbox.broker.routes import ROUTES
from signalbox.broker.routing.advertised_versions import AdvertisedVersions, ControllerVersions, ListenerKind
from signalbox.protocol.api_table import API_TABLE, ApiKey
from tests.broker.handler_requests import context

CLIENTS = ListenerKind.CLIENTS


class ControllerWith(ControllerVersions):
    """The versions of a controller, without a channel to it."""

    def __init__(self, ranges: Mapping[int, tuple[int, int]] | None = None) -> None:
        self.ranges = ranges

    def controller_ranges(self) -> Mapping[int, tuple[int, int]] | None:
        return self.ranges


def test_all_routes_and_sasl_with_produce_from_0() -> None:
    ranges = AdvertisedVersions(None, False).ranges(ListenerKind.BROKERS)
    assert set(ranges) == {*(int(row.api_key) for row in ROUTES), 17, 36}
    assert list(ranges) == sorted(ranges)
    assert ranges[ApiKey.PRODUCE] == (0, 13)
    assert ranges[ApiKey.CREATE_TOPICS] == (2, 7)


@pytest.mark.spec("F9")
def test_forwardable_apis_are_intersected_with_the_controllers() -> None:
    controller = ControllerWith({ApiKey.CREATE_TOPICS: (5, 9), ApiKey.DELETE_TOPICS: (7, 8), ApiKey.FETCH: (4, 4)})
    ranges = AdvertisedVersions(controller, False).ranges(CLIENTS)
    assert ranges[ApiKey.CREATE_TOPICS] == (5, 7)
    assert ApiKey.DELETE_TOPICS not in ranges  # no version in common
    assert ApiKey.ALTER_CONFIGS not in ranges  # the controller does not have it
    assert ranges[ApiKey.FETCH] == (4, 18)  # handled locally: the controller's range does not matter


@pytest.mark.spec("F9")
def test_a_node_that_forwards_nothing_lists_its_own_versions() -> None:
    for kind in ListenerKind:
        own = AdvertisedVersions(None, False).ranges(kind)
        assert own == AdvertisedVersions(ControllerWith(), False).ranges(kind)


@pytest.mark.spec("F9")
def test_a_ceiling_lowers_what_is_listed_alone_and_beside_the_controllers() -> None:
    controller = ControllerWith()
    advertised = AdvertisedVersions(controller, False, {ApiKey.CREATE_TOPICS: 5})
    assert advertised.ranges(CLIENTS)[ApiKey.CREATE_TOPICS] == (2, 5)
    for theirs, common in (((2, 7), (2, 5)), ((2, 4), (2, 4))):
        controller.ranges = {ApiKey.CREATE_TOPICS: theirs}
        assert advertised.ranges(CLIENTS)[ApiKey.CREATE_TOPICS] == common


def test_the_same_object_as_long_as_nothing_changes() -> None:
    controller = ControllerWith()
    advertised = AdvertisedVersions(controller, False)
    alone = advertised.ranges(CLIENTS)
    assert advertised.ranges(CLIENTS) is alone
    controller.ranges = {ApiKey.CREATE_TOPICS: (2, 2)}
    assert advertised.ranges(CLIENTS)[ApiKey.CREATE_TOPICS] == (2, 2)
    controller.ranges = None
    assert advertised.ranges(CLIENTS) is alone


@pytest.mark.spec("C4")
def test_a_forced_control_plane_lists_the_four_and_the_set_up() -> None:
    forced = AdvertisedVersions(ControllerWith(), True)
    assert set(forced.ranges(forced.kind_of(context(control_plane=True)))) == {4, 5, 6, 7, 17, 18, 36}
    assert ApiKey.METADATA in forced.ranges(CLIENTS)
    free = AdvertisedVersions(ControllerWith(), False)
    assert ApiKey.METADATA in free.ranges(free.kind_of(context(control_plane=True)))


@pytest.mark.spec("F15", "F9")
def test_a_controllers_listener_lists_what_comes_in_there_and_in_envelopes() -> None:
    ranges = AdvertisedVersions(ControllerWith({}), False).ranges(ListenerKind.CONTROLLERS)
    assert {key for key in ranges if API_TABLE[key].controller} == {7, 17, 18, 36, 56, 58, 67}
    assert all(API_TABLE[key].controller or API_TABLE[key].forwardable for key in ranges)
    assert ranges[ApiKey.CREATE_TOPICS] == (2, 7)


@pytest.mark.spec("F4", "F15")
def test_where_brokers_do_not_speak_their_apis_are_not_listed() -> None:
    controller = ControllerWith({int(row.api_key): (0, 99) for row in ROUTES})
    advertised = AdvertisedVersions(controller, False, peer_listeners={"FORMER"})
    clients = advertised.ranges(advertised.kind_of(context()))
    speaks = (context(inter_broker=True), context(control_plane=True), context(privileged=True))
    for each in (*speaks, context(listener="FORMER")):
        brokers = advertised.ranges(advertised.kind_of(each))
        assert set(brokers) - set(clients) == {4, 5, 6, 7, 56, 58, 67}
        assert set(clients) < set(brokers)
    assert advertised.kind_of(context(controller_plane=True, privileged=True)) is ListenerKind.CONTROLLERS
