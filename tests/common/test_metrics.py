from signalbox.common.metrics import Histogram, MetricName, NullMetrics


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
    metrics.counter_from(name, value)
    metrics.gauges(name, lambda: [({}, value())])
    metrics.counters(name, lambda: [({}, value())])
    metrics.before_scrape(lambda: read.append(2))
    metrics.remove(name)
    assert read == []


def test_a_histogram_keeps_count_and_sum_of_all_and_a_window_of_recent_values() -> None:
    histogram = Histogram(window=4)
    assert histogram.quantiles((0.5,)) == [0.0]
    for value in (100, 1, 2, 3):
        histogram.record(value)
    histogram.record_zeros(1)
    assert (histogram.count, histogram.total) == (5, 106)
    assert histogram.quantiles((0.5, 0.99)) == [2, 3]


def test_a_histogram_without_a_window_keeps_no_value() -> None:
    histogram = Histogram(window=0)
    histogram.record(7)
    histogram.record_zeros(2)
    assert (histogram.count, histogram.total, histogram.quantiles((0.5,))) == (3, 7, [0.0])
