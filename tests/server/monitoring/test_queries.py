"""Queries from rows of the table of metrics."""

from __future__ import annotations

import pytest

from signalbox.server.monitoring.queries import GROWING_GAUGES, ROWS, WITHOUT_QUANTILES, row_of, series, shown


def test_a_metric_that_brokers_do_not_have_is_an_error() -> None:
    with pytest.raises(KeyError):
        series("kafka_server_replicamanager_undereplicatedpartitions", 'job="a"')
    assert row_of("process_open_fds").unit == "descriptors"
    assert {*GROWING_GAUGES, *WITHOUT_QUANTILES} <= ROWS.keys()


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("kafka_server_replicamanager_leadercount", 'kafka_server_replicamanager_leadercount{job="a"}'),
        ("kafka_log_log_size", 'topk(9, kafka_log_log_size{job="a"})'),
        (
            "signalbox_audit_audittrail_droppedevents_total",
            'sum by (instance) (rate(signalbox_audit_audittrail_droppedevents_total{job="a"}[5m]))',
        ),
        (
            "kafka_network_requestmetrics_totaltimems",
            'topk(9, kafka_network_requestmetrics_totaltimems{job="a",quantile="0.99"})',
        ),
        (
            "kafka_network_requestmetrics_requestbytes",
            'topk(9, sum by (instance, request) (rate(kafka_network_requestmetrics_requestbytes_sum{job="a"}[5m]))'
            ' / sum by (instance, request) (rate(kafka_network_requestmetrics_requestbytes_count{job="a"}[5m])))',
        ),
        (
            "kafka_server_kafkaserver_linux_disk_read_bytes",
            'sum by (instance) (rate(kafka_server_kafkaserver_linux_disk_read_bytes{job="a"}[5m]))',
        ),
    ],
)
def test_each_kind_is_shown_in_its_way(name: str, query: str) -> None:
    assert shown(ROWS[name], 'job="a"', "5m", 9) == query
