"""Why a TLS connection failed: a text that names the setting to check, and the label under which it is counted."""

from __future__ import annotations

import ssl

from signalbox.transport.frame_channel import PEER_CLOSED
from signalbox.transport.tls.tls_records import NotTls

TLS_HANDSHAKE, PLAINTEXT_ON_TLS, TLS_ON_PLAINTEXT = "tls_handshake", "plaintext_on_tls", "tls_on_plaintext"
TLS_RENEGOTIATION = "tls_renegotiation"
RENEGOTIATED = "the peer asked for a TLS renegotiation, which is rejected"

NOT_VALID_NOW = "ssl.keystore.* of the peer"  # what to change where the peer's certificate is out of date
ENDED_EARLY = "the peer ended the connection during the TLS handshake: perhaps its port is without TLS"


class TlsFailed(ConnectionError):
    """An outbound connection without a TLS handshake; the text says why. `reason` is why the channel was closed."""

    def __init__(self, reason: str) -> None:
        super().__init__(ENDED_EARLY if reason == PEER_CLOSED else reason)


# X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH
_NAME_CODES = (62, 64)
# X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED
_TIME_CODES = (9, 10)

# OpenSSL's reason → the explanation for the operator.
_REASONS = {
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the peer sent no certificate (ssl.client.auth=required)",
    "NO_SHARED_CIPHER": "no cipher suite in common (ssl.cipher.suites)",
    "NO_SUITABLE_SIGNATURE_ALGORITHM": "no signature algorithm in common",
    "UNSUPPORTED_PROTOCOL": "no TLS version in common (ssl.enabled.protocols)",
    "VERSION_TOO_LOW": "no TLS version in common (ssl.enabled.protocols)",
    "WRONG_VERSION_NUMBER": "no TLS version in common, or the peer does not speak TLS",
    "TLSV1_ALERT_PROTOCOL_VERSION": "the peer supports none of our TLS versions (ssl.enabled.protocols)",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "the peer has no cipher suite in common with us, or wants a certificate",
    "TLSV1_ALERT_UNKNOWN_CA": "the peer does not trust the issuer of our certificate (its truststore)",
    "SSLV3_ALERT_BAD_CERTIFICATE": "the peer rejects our certificate, or our host name does not match it",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "the peer does not accept our certificate",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "the peer rejects our certificate: it is not valid at this time",
    "SSLV3_ALERT_CERTIFICATE_REVOKED": "the peer rejects our certificate: it is revoked",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "the peer wants a client certificate and we have none (ssl.keystore.*)",
}


def failure_kind(error: Exception) -> str:
    """The label for `error`, one of a closed set."""
    return PLAINTEXT_ON_TLS if isinstance(error, NotTls) else TLS_HANDSHAKE


def failure_reason(error: Exception) -> str:
    """A text for `error`; never a secret, since OpenSSL's errors contain reasons only."""
    if isinstance(error, NotTls):
        return f"{error}: check the peer's security.protocol, or the port"
    if isinstance(error, ssl.SSLCertVerificationError):
        fault = error.verify_message.rstrip(".")
        return f"the TLS handshake failed: the peer's certificate is rejected: {fault} ({_setting(error)})"
    reason = getattr(error, "reason", None)
    return f"the TLS handshake failed: {_REASONS.get(str(reason), reason or error)}"


def broken_reason(error: OSError) -> str:
    """Why an established TLS connection ended; in TLS 1.3 also why the peer rejected our certificate."""
    reason = getattr(error, "reason", None)
    return f"TLS failed: {_REASONS.get(str(reason), reason or error)}"


def _setting(error: ssl.SSLCertVerificationError) -> str:
    """What to change. A certificate that is out of date is the peer's fault: no trust store makes it valid."""
    if error.verify_code in _NAME_CODES:
        return "ssl.endpoint.identification.algorithm"
    return NOT_VALID_NOW if error.verify_code in _TIME_CODES else "ssl.truststore.*"
