from signalbox.common.metrics import MetricName, NullMetrics


def test_null_metrics_take_everything_and_read_nothing() -> None:
    name = MetricName("kafka.network", "RequestChannel", "RequestQueueSize")
    metrics = NullMetrics()
    read: list[int] = []
    metrics.counter(name).add(3)
    metrics.histogram(name).record(1.5)

    def value() -> float:
        read.append(1)
        return 1.0

    metrics.gauge(name, value)
    metrics.remove(name)
    assert read == []
