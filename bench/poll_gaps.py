"""What a broker says of its own polls (`data.plane.measure.polls`): how long the control plane was not looked at."""

from __future__ import annotations

import urllib.request

_METRIC = "kafka_network_socketserver_pollgapus"


def read_gaps(metrics_url: str) -> dict[float, float]:
    """Gaps so far of at most so many microseconds."""
    found = {}
    with urllib.request.urlopen(metrics_url, timeout=60) as page:
        for line in page.read().decode().splitlines():
            if line.startswith(_METRIC + "{"):
                bound, count = line.removeprefix(_METRIC + '{le="').split('"} ')
                found[float(bound)] = float(count)
    if not found:
        raise RuntimeError(f"{metrics_url} tells no poll gaps: data.plane.measure.polls is off")
    return found


def quantile(before: dict[float, float], after: dict[float, float], share: float) -> float:
    """The upper bound below which `share` of the gaps between two readings lie; 1 is the longest."""
    new = {bound: after[bound] - before[bound] for bound in sorted(after)}
    total = new[float("inf")]
    return next(bound for bound, count in new.items() if count >= share * total)
