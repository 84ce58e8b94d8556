"""What a broker offers: its routes, of what it forwards what the controller takes, four APIs on a forced plane."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from signalbox.broker.advertised_versions import AdvertisedVersions
from signalbox.broker.routes import ROUTES
from signalbox.protocol.api_table import API_TABLE, ApiKey


class ControllerWith:
    def __init__(self, ranges: Mapping[int, tuple[int, int]] | None = None) -> None:
        self.ranges = ranges

    def controller_ranges(self) -> Mapping[int, tuple[int, int]] | None:
        return self.ranges


def test_all_routes_and_sasl_with_produce_from_0() -> None:
    ranges = AdvertisedVersions(ControllerWith(), False).ranges(control_plane=False)
    assert set(ranges) == {*(int(row.api_key) for row in ROUTES), 17, 36}
    assert list(ranges) == sorted(ranges)
    assert ranges[ApiKey.PRODUCE] == (0, 13)
    assert ranges[ApiKey.CREATE_TOPICS] == (2, 7)


@pytest.mark.spec("F9")
def test_forwardable_apis_are_intersected_with_the_controllers() -> None:
    controller = ControllerWith({ApiKey.CREATE_TOPICS: (5, 9), ApiKey.DELETE_TOPICS: (7, 8), ApiKey.FETCH: (4, 4)})
    ranges = AdvertisedVersions(controller, False).ranges(control_plane=False)
    assert ranges[ApiKey.CREATE_TOPICS] == (5, 7)
    assert ApiKey.DELETE_TOPICS not in ranges  # no version in common
    assert ApiKey.ALTER_CONFIGS not in ranges  # the controller does not have it
    assert ranges[ApiKey.FETCH] == (4, 18)  # nobody's business but this broker's


@pytest.mark.spec("F9")
def test_a_ceiling_lowers_what_is_listed_alone_and_beside_the_controllers() -> None:
    controller = ControllerWith()
    advertised = AdvertisedVersions(controller, False, {ApiKey.CREATE_TOPICS: 5})
    assert advertised.ranges(control_plane=False)[ApiKey.CREATE_TOPICS] == (2, 5)
    for theirs, common in (((2, 7), (2, 5)), ((2, 4), (2, 4))):
        controller.ranges = {ApiKey.CREATE_TOPICS: theirs}
        assert advertised.ranges(control_plane=False)[ApiKey.CREATE_TOPICS] == common


def test_the_same_object_as_long_as_nothing_changes() -> None:
    controller = ControllerWith()
    advertised = AdvertisedVersions(controller, False)
    alone = advertised.ranges(False)
    assert advertised.ranges(False) is alone
    controller.ranges = {ApiKey.CREATE_TOPICS: (2, 2)}
    assert advertised.ranges(False)[ApiKey.CREATE_TOPICS] == (2, 2)
    controller.ranges = None
    assert advertised.ranges(False) is alone


@pytest.mark.spec("C4")
def test_a_forced_control_plane_lists_the_four_and_the_set_up() -> None:
    forced = AdvertisedVersions(ControllerWith(), True)
    assert set(forced.ranges(control_plane=True)) == {4, 5, 6, 7, 17, 18, 36}
    assert ApiKey.METADATA in forced.ranges(control_plane=False)
    assert ApiKey.METADATA in AdvertisedVersions(ControllerWith(), False).ranges(control_plane=True)


@pytest.mark.spec("F15", "F9")
def test_a_controllers_listener_lists_what_comes_in_there_and_in_envelopes() -> None:
    ranges = AdvertisedVersions(ControllerWith({}), False).ranges(False, controller_plane=True)
    assert {key for key in ranges if API_TABLE[key].controller} == {7, 17, 18, 36, 56, 58, 67}
    assert all(API_TABLE[key].controller or API_TABLE[key].forwardable for key in ranges)
    assert ranges[ApiKey.CREATE_TOPICS] == (2, 7)
