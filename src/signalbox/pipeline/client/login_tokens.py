"""Access tokens for librdkafka's callback, from a description that is plain JSON: a callback cannot travel to Spark's
workers. A token endpoint needs none of this, librdkafka asks it itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from signalbox.security.oauth.login_token import LoginToken, read_login_token
from signalbox.security.oauth.unsecured_login import UnsecuredTokens

TOKEN_SOURCE = "signalbox.token.source"  # a setting of ours, never passed to librdkafka
FILE, UNSECURED = "file", "unsecured"

Callback = Callable[[str], tuple[str, float]]


def with_token_callback(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as librdkafka takes them: the described source of tokens becomes its `oauth_cb`. TokenUnavailable,
    OSError."""
    known = dict(settings)
    described = known.pop(TOKEN_SOURCE, None)
    if described is not None:
        known["oauth_cb"] = callback = _callback(json.loads(described))
        callback("")  # librdkafka would report the failure of the first call after ten seconds
    return known


def _callback(source: Mapping[str, Any]) -> Callback:
    def token_and_expiry_seconds(_: str) -> tuple[str, float]:
        token = _from_file(source[FILE]) if FILE in source else UnsecuredTokens(source[UNSECURED]).token()
        return token.text, token.expires_at_ms / 1000

    return token_and_expiry_seconds


def _from_file(url: str) -> LoginToken:
    """The file is read each time: another program keeps it up to date."""
    return read_login_token(Path(unquote(urlsplit(url).path)).read_text())
