from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.wiring.conftest import repository

__all__ = ["repository"]


@pytest.fixture(scope="module", autouse=True)
def no_certificates_of_the_system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """OpenSSL reads all CA certificates of the system for each context without a trust store: 60 ms each time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", os.devnull)
        patch.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("no-certificates")))
        yield
