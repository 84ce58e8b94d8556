from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.coordinator.bench import Bench, settle, transcript

from signalbox.common.metrics import MetricName, NullMetrics
from signalbox.coordinator.group_metrics import register_group_metrics


class Scraped(NullMetrics):
    def __init__(self) -> None:
        self.readers: dict[str, Callable[[], float]] = {}

    def gauge(self, name: MetricName, read: Callable[[], float], tags: Mapping[str, str] | None = None) -> None:
        assert name[:2] == ("kafka.coordinator.group", "GroupMetadataManager")
        self.readers[name.name] = read


@transcript
async def test_groups_are_counted_by_state_and_offsets_too() -> None:
    bench = await Bench().start()
    scraped = Scraped()
    register_group_metrics(scraped, bench.runtime.active_shards)
    await bench.stable_group(b"a")
    bench.commit({("t", 0): 1, ("t", 1): 2}, group="simple")
    await settle()
    counts = {name: read() for name, read in scraped.readers.items() if read()}
    assert counts == {"NumGroups": 2, "NumOffsets": 2, "NumGroupsStable": 1, "NumGroupsEmpty": 1}
    bench.coordinator.on_resigned(0)
    assert not any(read() for read in scraped.readers.values())
