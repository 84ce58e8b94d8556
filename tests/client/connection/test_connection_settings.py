from __future__ import annotations

from signalbox.client.connection.connection_settings import PLAINTEXT, ConnectionSettings
from signalbox.common.limits import MAX_FRAME_SIZE_BYTES, MAX_UNAUTHENTICATED_FRAME_BYTES


def test_defaults_are_plaintext_with_identity_and_a_tighter_cap_before_the_handshake() -> None:
    settings = ConnectionSettings()
    assert settings.security is PLAINTEXT
    assert settings.identity_enabled
    assert settings.max_handshake_frame_bytes == MAX_UNAUTHENTICATED_FRAME_BYTES
    assert settings.max_frame_bytes == MAX_FRAME_SIZE_BYTES > MAX_UNAUTHENTICATED_FRAME_BYTES
