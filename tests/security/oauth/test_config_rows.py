from __future__ import annotations

import pytest

from signalbox.security.oauth.config_rows import VALIDATION_ROWS

ROWS = {row.name: row for row in VALIDATION_ROWS}


def test_kafkas_defaults() -> None:
    assert ROWS["sasl.oauthbearer.clock.skew.seconds"].default == 30
    assert ROWS["sasl.oauthbearer.jwks.endpoint.refresh.ms"].default == 3_600_000
    assert ROWS["sasl.oauthbearer.jwks.endpoint.retry.backoff.ms"].default == 100
    assert ROWS["sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms"].default == 10_000
    assert ROWS["sasl.oauthbearer.sub.claim.name"].default == "sub"


def test_a_claim_has_a_name() -> None:
    with pytest.raises(ValueError, match="blank"):
        ROWS["sasl.oauthbearer.sub.claim.name"].parse(" ")
