from __future__ import annotations

import pytest

from signalbox.client.connection.api_ranges import ApiRanges
from signalbox.client.failures import VersionUnsupported
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.api_versions import ApiVersionsResponse


def listed(*rows: tuple[int, int, int]) -> ApiRanges:
    made = ApiVersionsResponse.ApiVersion
    return ApiRanges.of_answer([made(api_key=k, min_version=low, max_version=high) for k, low, high in rows])


def test_the_highest_common_version_is_chosen() -> None:
    ranges = listed((3, 0, 9), (0, 0, 99), (19, 2, 4))
    assert ranges.version_for(ApiKey.METADATA) == 9
    assert ranges.version_for(ApiKey.METADATA, 4) == 4
    assert ranges.version_for(ApiKey.PRODUCE) == 13
    assert ranges.version_for(ApiKey.CREATE_TOPICS, 7) == 4
    assert ranges.range_of(3) == (0, 9)
    assert (3 in ranges, 58 in ranges, sorted(ranges)) == (True, False, [0, 3, 19])


@pytest.mark.parametrize(("api", "limit"), [(ApiKey.ENVELOPE, None), (ApiKey.PRODUCE, 2), (ApiKey.FETCH, None)])
def test_nothing_in_common_is_an_error(api: ApiKey, limit: int | None) -> None:
    with pytest.raises(VersionUnsupported):
        listed((0, 0, 13), (1, 0, 3)).version_for(api, limit)


def test_a_table_that_contradicts_itself_is_rejected() -> None:
    with pytest.raises(ValueError, match="twice"):
        listed((3, 0, 9), (3, 0, 9))
    with pytest.raises(ValueError, match="from 5 to 4"):
        listed((3, 5, 4))
