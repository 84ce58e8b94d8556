"""The error text of each client when it is rejected, by fault (`Fault.shows`)."""

from __future__ import annotations

from collections.abc import Mapping

_OPENSSL = {
    "untrusted": r"CERTIFICATE_VERIFY_FAILED",
    "name": r"IP address mismatch",
}

# A broker responds to a rejected token with JSON and no error code (RFC 7628). These two take any such response for
# success, send their first request and see the connection closed (aiokafka/conn.py, OAuthAuthenticator.step; kafkajs,
# protocol/sasl/oauthBearer/response.js).
_CLOSED_CONNECTION = {"aiokafka": r"Connection at \S+ closed", "kafkajs": r"KafkaJSConnectionClosedError: "}

REJECTIONS: Mapping[str, Mapping[str, str]] = {
    "librdkafka": {
        "login": r"_AUTHENTICATION: .*SASL authentication error: .*[Aa]uthentication failed",
        "token": r"_AUTHENTICATION: .*invalid_token",
        "untrusted": r"_SSL: .*certificate verify failed",
        "name": r"_SSL: .*certificate verify failed",
        "alert": r"SSL alert number \d+",
    },
    "kafka-python": {
        **_OPENSSL,
        "login": r"SaslAuthenticationFailedError",
        "token": r"SaslAuthenticationFailedError: .*invalid_token",
        "alert": r"\[SSL: \w*ALERT_\w+\]",
    },
    # aiokafka reports an alert after its own part of a TLS 1.3 handshake as a closed connection.
    "aiokafka": {
        **_OPENSSL,
        "login": r"SaslAuthenticationFailed: ",
        "token": _CLOSED_CONNECTION["aiokafka"],
        "alert": r"Connection at \S+ closed|\[SSL: \w*ALERT_\w+\]",
    },
    "kafkajs": {
        "login": r"KafkaJSSASLAuthenticationError: ",
        "token": _CLOSED_CONNECTION["kafkajs"],
        "untrusted": r"certificate signature failure",
        "name": r"does not match certificate's altnames",
        "alert": r"SSL alert number \d+",
    },
    "java": {
        "login": r"\.SaslAuthenticationException: ",
        "token": r"\.SaslAuthenticationException: .*invalid_token",
        "untrusted": r"\.SslAuthenticationException: SSL handshake failed.*CertPathValidatorException",
        "name": r"No subject alternative names matching IP address",
        "alert": r"SSLHandshakeException: Received fatal alert: \w+",
    },
    "kcat": {
        "login": r"SASL authentication error: .*[Aa]uthentication failed",
        "token": r"SASL authentication error: .*invalid_token",
        "untrusted": r"certificate verify failed",
        "name": r"certificate verify failed",
        "alert": r"SSL alert number \d+",
    },
}
