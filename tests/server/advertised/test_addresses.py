from __future__ import annotations

import pytest

from signalbox.common.endpoint import Endpoint, SecurityProtocol
from signalbox.metadata.image import EMPTY_IMAGE, BrokerImage, MetadataImage
from signalbox.server.advertised.addresses import addresses_to_check

pytestmark = pytest.mark.spec("R9")


def image_of(*node_ids: int) -> MetadataImage:
    def endpoint(name: str, node_id: int) -> Endpoint:
        return Endpoint(name, f"host{node_id}", 9092, SecurityProtocol.PLAINTEXT)

    names = ("CLIENT", "CONTROL")
    return MetadataImage(
        {one: BrokerImage(one, None, {name: endpoint(name, one) for name in names}) for one in node_ids}, {}, {}
    )


def nodes(image: MetadataImage, node_id: int, max_peers: int = 32) -> list[int]:
    return [row.node_id for row in addresses_to_check(image, node_id, ("CONTROL",), max_peers)]


def test_its_own_addresses_come_first_then_those_of_the_next_peers() -> None:
    assert nodes(image_of(4, 2, 1, 3), 3) == [3, 4, 1, 2]
    assert nodes(image_of(4, 2, 1, 3), 3, max_peers=2) == [3, 4, 1]


def test_every_broker_is_checked_by_as_many_others() -> None:
    image = image_of(*range(10))
    checked = [other for node_id in range(10) for other in nodes(image, node_id, max_peers=3)[1:]]
    assert sorted(checked) == sorted([*range(10)] * 3)


def test_listeners_that_are_left_out_and_a_broker_that_the_metadata_does_not_have() -> None:
    rows = addresses_to_check(image_of(1), 1, ())
    assert [str(row.endpoint) for row in rows] == ["CLIENT://host1:9092", "CONTROL://host1:9092"]
    assert addresses_to_check(image_of(2), 1, ()) == addresses_to_check(EMPTY_IMAGE, 1, ()) == []
