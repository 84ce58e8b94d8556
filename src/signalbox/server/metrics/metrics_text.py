"""The metrics page's text for Prometheus (0.0.4), with the names that dashboards for Kafka use.

Names are made from the MBean by the usual rules of Prometheus' JMX exporter for Kafka (its example for Kafka 2.0.0,
Strimzi's rules): `kafka.network:type=RequestMetrics,name=RequestsPerSec` is
`kafka_network_requestmetrics_requests_total`, a histogram has `_count`, `_sum` and `quantile`. Gauges of a percentage
(`...Percent`) have two names, since the two rule sets differ there: `...percent` and Strimzi's `..._percent`.

A page is written by a cooperative task (`common/cooperative_task.py`): thousands of partitions have thousands of lines.
So the text is written here, line by line; prometheus-client would write a page in one piece (tests check this page with
it). The metrics of the process (`process_...`) come from prometheus-client's own collector, in the thread of the page.
"""

from __future__ import annotations

import math
import re

from prometheus_client import ProcessCollector

from signalbox.broker.metrics.metric_registry import Kind, MetricRegistry, Sample
from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.metrics import MetricName

_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})
_PROCESS = ProcessCollector(registry=None)


def prometheus_name(name: MetricName, kind: Kind) -> str:
    """`kafka.network:type=RequestMetrics,name=RequestsPerSec` → `kafka_network_requestmetrics_requests_total`. A
    counter that Kafka calls `...total` or `...Count` keeps its name; the latter is shown as a gauge, as in the rules,
    since readers expect a counter's name to end in `_total`."""
    text = re.sub(r"[^a-z0-9_]", "_", "_".join(name).lower())
    if kind is not Kind.COUNTER:
        return text
    text = text.removesuffix("persec")
    return text if text.endswith(("total", "count")) else f"{text}_total"


def prometheus_type(name: MetricName, kind: Kind) -> Kind:
    """The type on the page."""
    return Kind.GAUGE if kind is Kind.COUNTER and name.name.lower().endswith("count") else kind


def prometheus_names(name: MetricName, kind: Kind) -> tuple[str, ...]:
    """All names of a family on the page."""
    text = prometheus_name(name, kind)
    if kind is Kind.GAUGE and text.endswith("percent"):
        return text, f"{text.removesuffix('percent')}_percent"
    return (text,)


def render(registry: MetricRegistry) -> list[bytes]:
    """Returns the text of all metrics of the registry in parts, since a page has megabytes. Yields."""
    families: dict[str, list[str]] = {}
    names: dict[tuple[MetricName, Kind], tuple[str, ...]] = {}
    for sample in registry.samples():
        yield_if_due()
        key = (sample.name, sample.kind)
        if key not in names:
            names[key] = prometheus_names(*key)
        for name in names[key]:
            lines = families.get(name)
            if lines is None:
                lines = families[name] = [
                    f"# HELP {name} {_mbean(sample.name)}\n# TYPE {name} {prometheus_type(*key)}\n"
                ]
            lines.append(f"{name}{sample.suffix}{_labels(sample)} {_number(sample.value)}\n")
    text = []
    for lines in families.values():
        text.append("".join(lines).encode())
        yield_if_due()
    return text


def render_process() -> bytes:
    """Returns the text of the metrics of this process. Takes milliseconds where thousands of files are open, and does
    not yield: for another thread than the node's."""
    text = []
    for family in _PROCESS.collect():
        for sample in family.samples:
            text.append(f"# HELP {sample.name} {family.documentation}\n# TYPE {sample.name} {family.type}\n")
            text.append(f"{sample.name} {_number(sample.value)}\n")
    return "".join(text).encode()


def _mbean(name: MetricName) -> str:
    return f"{name.group}:type={name.type},name={name.name}"


def _labels(sample: Sample) -> str:
    if not sample.tags:
        return ""
    pairs = (f'{re.sub(r"[^a-zA-Z0-9_]", "_", tag)}="{value.translate(_ESCAPES)}"' for tag, value in sample.tags)
    return "{" + ",".join(pairs) + "}"


def _number(value: float) -> str:
    """The number in Go's format, which parsers expect for NaN and the two infinities."""
    if math.isfinite(value):
        return repr(float(value))
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
