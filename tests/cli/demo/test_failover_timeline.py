"""The killed controller on a time line: well-formed for any times, the longest silence shaded."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from signalbox.cli.demo.failover_timeline import failover_timeline, longest_silence


@pytest.mark.parametrize(
    ("times", "silence"), [([], (0.0, 8.0)), ([1.0], (0.0, 8.0)), ([0.0, 1.0, 3.0, 3.5], (1.0, 3.0))]
)
def test_the_longest_silence(times: list[float], silence: tuple[float, float]) -> None:
    assert longest_silence(times, 8.0) == silence


def test_bars_kill_and_silence() -> None:
    times = [number / 100 for number in range(200)] + [3.0 + number / 100 for number in range(400)]
    picture = ElementTree.fromstring(failover_timeline(times, 2.0, 3))
    texts = [str(text.text) for text in picture.iter("text")]
    assert texts[:2] == ["SIGKILL to broker 3, the active controller", "longest silence 1.01 s"]
    assert texts[2:] == ["-2 s", "0 s", "+2 s", "+4 s"]
    silent, *bars = picture.iter("rect")
    assert float(silent.attrib["width"]) > 5 * float(bars[0].attrib["width"])
    assert len(bars) == 60  # tenths of a second with an acknowledgement: 20 before the silence, 40 after it


@pytest.mark.parametrize("times", [[], [0.0], [7.9]])
def test_a_timeline_of_nothing(times: list[float]) -> None:
    assert ElementTree.fromstring(failover_timeline(times, 2.0, 1)).tag == "svg"
