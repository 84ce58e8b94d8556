"""The values of a registry, for comparisons in tests."""

from __future__ import annotations

from signalbox.broker.metrics.metric_registry import MetricRegistry


def metric_values(registry: MetricRegistry, *groups: str) -> dict[tuple[str, ...], float]:
    """Values by name (with a summary's `_count` or `_sum`) and tag values; only of `groups`, if any are named."""
    return {
        (sample.name.name + sample.suffix, *(value for _, value in sample.tags)): sample.value
        for sample in registry.samples()
        if not groups or sample.name.group in groups
    }
