"""Classes by import path."""

from __future__ import annotations

from collections import OrderedDict

import pytest

from signalbox.common.config.import_path import load_class


@pytest.mark.parametrize("path", ["collections.OrderedDict", "collections:OrderedDict"])
def test_a_class_is_found(path: str) -> None:
    assert load_class(path) is OrderedDict


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("", ValueError),
        ("OrderedDict", ValueError),
        (".OrderedDict", ValueError),
        ("collections:", ValueError),
        ("collections:not a name", ValueError),
        ("no.such.Thing", ImportError),
        ("no.such:Thing", ImportError),
        ("collections.No", AttributeError),
    ],
)
def test_errors_of_a_missing_class(path: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        load_class(path)
