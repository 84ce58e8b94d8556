"""The TLS of one listener, and its renewal while it serves (KIP-226).

A renewal reads everything again from the changed settings, also files whose names are the same, so one function handles
a new location, a new password and a file that was replaced on disk. Nothing is changed in place: handshakes in progress
and connections keep the old context.

Kafka's rules for a new keystore: the same distinguished name, unless ssl.allow.dn.changes; no alternative name of the
old one missing, unless ssl.allow.san.changes (KIP-978); a truststore may be replaced but not added. Where brokers
connect to the listener, old and new contexts must complete a handshake with each other in both directions, since a
cluster is renewed broker by broker: a truststore that does not trust the listener's own certificate is rejected, at
start too.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from signalbox.security.tls.contexts import client_context, server_context
from signalbox.security.tls.settings import TlsConfigError, TlsSettings
from signalbox.security.tls.stores import open_stores, written_at

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

_MOST_HANDSHAKE_STEPS = 20  # a handshake takes three or four in each direction


@dataclass(frozen=True, slots=True)
class ListenerTls:
    """`context` is for the listener's handshakes. `chain` is its certificates in PEM, own first. `as_client` is the
    client context of a broker with the same settings, without host name check; None where brokers do not connect.
    `files` are the stores' files with their modification times when they were read (ns)."""

    settings: TlsSettings
    context: ssl.SSLContext
    chain: str = field(repr=False)
    has_truststore: bool
    as_client: ssl.SSLContext | None
    files: Mapping[str, int]

    @property
    def replaced_files(self) -> list[str]:
        """The files that were written again since they were read; deleted files are not among them."""
        return [path for path, at in written_at(self.files).items() if at != self.files[path]]


def listener_tls(settings: TlsSettings, *, inter_node: bool) -> ListenerTls:
    """Read the stores now. TlsConfigError names the key that is wrong. Reads files and derives keys from passwords, so
    it may take a tenth of a second: do not call it in an event loop that serves connections. Safe in any thread."""
    result = _make(settings, inter_node)
    _check_handshake(result, result)
    return result


def renewed_listener_tls(current: ListenerTls, settings: TlsSettings) -> ListenerTls:
    """The successor of `current`, which stays as it is. TlsConfigError names the key that prevents the renewal.
    Cost and threads as `listener_tls`. Needs the `cryptography` package."""
    new = _make(settings, current.as_client is not None)
    if new.has_truststore and not current.has_truststore:
        raise TlsConfigError(
            "ssl.truststore.location", "a truststore cannot be added to a listener that started without one"
        )
    _check_names(current, new)
    _check_handshake(current, new)
    _check_handshake(new, current)
    return new


def _make(settings: TlsSettings, inter_node: bool) -> ListenerTls:
    stores = open_stores(settings)
    context = server_context(settings, stores)
    assert stores.key_entry is not None  # server_context rejects a listener without a key
    as_client = None
    if inter_node:
        as_client = client_context(replace(settings, endpoint_identification_algorithm=""), stores)
    return ListenerTls(settings, context, stores.key_entry.chain, stores.trusted is not None, as_client, stores.files)


def _check_names(old: ListenerTls, new: ListenerTls) -> None:
    present, replacement = _own_certificate(old.chain), _own_certificate(new.chain)
    key = "ssl.keystore.location" if new.settings.keystore_location else "ssl.keystore.certificate.chain"
    was, is_now = present.subject.rfc4514_string(), replacement.subject.rfc4514_string()
    if not new.settings.allow_dn_changes and present.subject != replacement.subject and was.lower() != is_now.lower():
        raise TlsConfigError(
            key, f"the new certificate is for {is_now}, the old one for {was}: ssl.allow.dn.changes would let it pass"
        )
    lost = _alternative_names(present) - _alternative_names(replacement)
    if lost and not new.settings.allow_san_changes:
        raise TlsConfigError(
            key,
            f"the new certificate lacks the alternative names {', '.join(sorted(lost))}: "
            "ssl.allow.san.changes would let it pass",
        )


def _own_certificate(chain: str) -> Certificate:
    try:
        from cryptography.x509 import load_pem_x509_certificates
    except ImportError as error:
        raise TlsConfigError(
            "ssl.keystore.location", "renewal needs the extra security: pip install cryptography"
        ) from error
    return load_pem_x509_certificates(chain.encode())[0]


def _alternative_names(certificate: Certificate) -> Set[str]:
    from cryptography import x509

    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return frozenset()
    return {f"{type(name).__name__.lower()}:{name.value}" for name in names}


def _check_handshake(server: ListenerTls, client: ListenerTls) -> None:
    problem = "" if client.as_client is None else handshake_problem(server.context, client.as_client)
    if problem:
        raise TlsConfigError(
            "ssl.truststore.location",
            f"brokers with these settings could not connect to each other, the handshake fails ({problem}): the "
            "truststore must know who signed the keystore's certificate",
        )


def handshake_problem(server: ssl.SSLContext, client: ssl.SSLContext, host: str | None = None) -> str:
    """Why the handshake of `client` with `server` fails, "" when it succeeds. `host` is the name that the client would
    connect to; it matters where the client checks names."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_side=False, server_hostname=host),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    try:
        for _ in range(_MOST_HANDSHAKE_STEPS):
            for side in list(sides):
                try:
                    side.do_handshake()
                except ssl.SSLWantReadError:
                    continue
                sides.remove(side)
            if not sides:
                return ""
    except ssl.SSLError as error:
        return getattr(error, "verify_message", "") or error.reason or str(error)
    return "it does not end"
