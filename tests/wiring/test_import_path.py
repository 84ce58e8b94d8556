"""Classes by import path."""

from __future__ import annotations

from collections import OrderedDict

import pytest

from signalbox.wiring.import_path import load_class


def test_a_class_is_found() -> None:
    assert load_class("collections.OrderedDict") is OrderedDict


@pytest.mark.parametrize(
    ("path", "error"), [("OrderedDict", ValueError), ("no.such.Thing", ImportError), ("collections.No", AttributeError)]
)
def test_what_is_not_there_says_so(path: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        load_class(path)
