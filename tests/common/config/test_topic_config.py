import pytest

from signalbox.common.config.topic_config import TOPIC_CONFIG, topic_config_problem


@pytest.mark.spec("D7")
def test_defaults_are_kafkas() -> None:
    defaults = {row.name: row.default for row in TOPIC_CONFIG}
    assert defaults["retention.ms"] == 604_800_000
    assert defaults["segment.bytes"] == 1_073_741_824
    assert defaults["max.message.bytes"] == 1_048_588
    assert defaults["cleanup.policy"] == ["delete"]
    assert defaults["min.insync.replicas"] == 1


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("retention.ms", "-2"),
        ("cleanup.policy", "delete,burn"),
        ("min.insync.replicas", "0"),
        ("compression.type", "rar"),
        ("leader.replication.throttled.replicas", "0-1"),
        ("leader.replication.throttled.replicas", "\u0660:1"),
        ("retention.ms", "1_000"),
        ("max.decompressed.message.bytes", "0"),
        ("max.decompressed.message.bytes", "2147483640"),
        ("compression.gzip.level", "0"),
        ("compression.gzip.level", "-2"),
        ("compression.gzip.level", "10"),
        ("compression.lz4.level", "0"),
        ("compression.lz4.level", "18"),
        ("compression.zstd.level", "-131073"),
        ("compression.zstd.level", "23"),
    ],
)
def test_values_kafka_rejects_are_rejected(key: str, text: str) -> None:
    with pytest.raises(ValueError):
        TOPIC_CONFIG[key].parse(text)


@pytest.mark.parametrize(("codec", "levels"), [("gzip", (-1, 1, 9)), ("lz4", (1, 17)), ("zstd", (-131072, 0, 22))])
def test_the_levels_there_are(codec: str, levels: tuple[int, ...]) -> None:
    row = TOPIC_CONFIG[f"compression.{codec}.level"]
    assert tuple(row.parse(str(level)) for level in levels) == levels


@pytest.mark.spec("D7")
def test_tiered_storage_cannot_be_asked_for() -> None:
    row = TOPIC_CONFIG["remote.storage.enable"]
    assert row.parse("false") is False
    with pytest.raises(ValueError, match="there is no tiered storage"):
        row.parse("true")


@pytest.mark.parametrize("text", ["*", "0:1,1:2"])
def test_throttled_replicas(text: str) -> None:
    assert TOPIC_CONFIG["leader.replication.throttled.replicas"].parse(text) == text.split(",")


@pytest.mark.parametrize(
    ("shortest", "longest", "conflict"),
    [("2", "1", True), ("1", "1", False), ("0", "1", False), (None, "1", False), ("60000", None, False)],
)
def test_the_lags_of_compaction_fit_together(shortest: str | None, longest: str | None, conflict: bool) -> None:
    given = {"min.compaction.lag.ms": shortest, "max.compaction.lag.ms": longest}
    problem = topic_config_problem({name: value for name, value in given.items() if value is not None})
    expected = "conflict topic config setting min.compaction.lag.ms (2) > max.compaction.lag.ms (1)"
    assert problem == (expected if conflict else None)
