"""What each client says when it is not let in: its own words, by what was wrong (`Fault.shows`)."""

from __future__ import annotations

from collections.abc import Mapping

_OPENSSL = {
    "untrusted": r"CERTIFICATE_VERIFY_FAILED",
    "name": r"IP address mismatch",
}

REFUSALS: Mapping[str, Mapping[str, str]] = {
    "librdkafka": {
        "login": r"_AUTHENTICATION: .*SASL authentication error: .*[Aa]uthentication failed",
        "untrusted": r"_SSL: .*certificate verify failed",
        "name": r"_SSL: .*certificate verify failed",
        "alert": r"SSL alert number \d+",
    },
    "kafka-python": {
        **_OPENSSL,
        "login": r"SaslAuthenticationFailedError",
        "alert": r"\[SSL: \w*ALERT_\w+\]",
    },
    # An alert after its half of a TLS 1.3 handshake is a closed connection to aiokafka.
    "aiokafka": {
        **_OPENSSL,
        "login": r"SaslAuthenticationFailed: ",
        "alert": r"Connection at \S+ closed|\[SSL: \w*ALERT_\w+\]",
    },
    "kafkajs": {
        "login": r"KafkaJSSASLAuthenticationError: ",
        "untrusted": r"certificate signature failure",
        "name": r"does not match certificate's altnames",
        "alert": r"SSL alert number \d+",
    },
    "java": {
        "login": r"\.SaslAuthenticationException: ",
        "untrusted": r"\.SslAuthenticationException: SSL handshake failed.*CertPathValidatorException",
        "name": r"No subject alternative names matching IP address",
        "alert": r"SSLHandshakeException: Received fatal alert: \w+",
    },
    "kcat": {
        "login": r"SASL authentication error: .*[Aa]uthentication failed",
        "untrusted": r"certificate verify failed",
        "name": r"certificate verify failed",
        "alert": r"SSL alert number \d+",
    },
}
