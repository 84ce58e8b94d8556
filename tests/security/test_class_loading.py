from __future__ import annotations

from collections import OrderedDict

import pytest

from signalbox.security.class_loading import CallbackClassError, CallbackSettings, load_callback, load_class

SETTINGS = CallbackSettings("CLIENT", "PLAIN", {"password": "jaas-secret"}, {"token": "config-secret"})
HERE = __name__


class Checker:
    def __init__(self, settings: CallbackSettings) -> None:
        self.settings = settings

    def check_password(self, user: str, password: str) -> bool:
        return password == self.settings.options["password"]


class Broken:
    def __init__(self, settings: CallbackSettings) -> None:
        raise RuntimeError("no directory")


@pytest.mark.parametrize("path", [f"{HERE}:Checker", f"{HERE}.Checker"])
def test_a_class_is_made_with_its_settings(path: str) -> None:
    checker = load_callback(path, SETTINGS, ("check_password",))
    assert checker.check_password("alice", "jaas-secret")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", "^is no import path"),
        ("Checker", "no import path"),
        ("module:", "no import path"),
        ("module:not a name", "no import path"),
        ("no.such.module:Checker", "ModuleNotFoundError"),
        (f"{HERE}:Missing", "AttributeError"),
        (f"{HERE}:HERE", "TypeError"),
        (f"{HERE}:Broken", "no directory"),
        (f"{HERE}:Checker", "lacks validate"),
    ],
)
def test_classes_that_cannot_be_used(path: str, words: str) -> None:
    with pytest.raises(CallbackClassError, match=words):
        load_callback(path, SETTINGS, ("validate",))


def test_settings_do_not_show_secrets() -> None:
    assert "secret" not in repr(SETTINGS)


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
