from __future__ import annotations

import pytest

from signalbox.security.callback_class import CallbackClassError, CallbackSettings, load_callback

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
