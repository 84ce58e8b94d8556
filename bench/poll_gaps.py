"""A broker's metric of its own polls (`signalbox.data.plane.measure.polls`): the time in which the control plane
was not polled."""

from __future__ import annotations

import urllib.request

_METRIC = "signalbox_transport_eventloop_pollgapus_total"


def read_gaps(metrics_url: str) -> dict[float, float]:
    """The number of gaps so far that are at most as long as each bound in microseconds."""
    found = {}
    with urllib.request.urlopen(metrics_url, timeout=60) as page:
        for line in page.read().decode().splitlines():
            if line.startswith(_METRIC + "{"):
                bound, count = line.removeprefix(_METRIC + '{le="').split('"} ')
                found[float(bound)] = float(count)
    if not found:
        raise RuntimeError(f"{metrics_url} tells no poll gaps: signalbox.data.plane.measure.polls is off")
    return found


def quantile(before: dict[float, float], after: dict[float, float], share: float) -> float:
    """The upper bound below which `share` of the gaps between two readings are; 1 is the longest."""
    new = {bound: after[bound] - before[bound] for bound in sorted(after)}
    total = new[float("inf")]
    return next(bound for bound, count in new.items() if count >= share * total)
