"""kcat from Debian: a process for each request. It reads as a plain consumer."""

from __future__ import annotations

import json
import subprocess

from tests.system.interop_security.access import Access, Seen
from tests.system.provision import command


class Kcat:
    """librdkafka itself fetches tokens (sasl.oauthbearer.method=oidc): kcat has no option for a token."""

    def round_trip(self, access: Access, topic: str, records: int) -> Seen:
        text = "".join(f"{number}\n" for number in range(records))
        _run(access, "-P", "-t", topic, "-X", "enable.idempotence=true", "-X", "acks=all", text=text)
        read = _run(access, "-C", "-t", topic, "-o", "beginning", "-c", str(records), "-q").split()
        listed = json.loads(_run(access, "-L", "-J"))["topics"]
        return Seen(read, topic in [each["topic"] for each in listed])

    def rejection(self, access: Access, deadline_s: float) -> str:
        """kcat retries until its own timeout, `-m` in seconds."""
        run = _start(access, "-L", "-m", str(int(deadline_s) // 10), timeout_s=deadline_s)
        return run.stderr if run.returncode else ""

    def close(self) -> None:
        return


def _run(access: Access, *arguments: str, text: str = "") -> str:
    run = _start(access, *arguments, text=text, timeout_s=30)
    assert run.returncode == 0, run.stderr
    return run.stdout


def _start(access: Access, *arguments: str, timeout_s: float, text: str = "") -> subprocess.CompletedProcess[str]:
    settings = {"security.protocol": access.protocol}
    if access.uses_tls:
        settings["ssl.ca.location"] = access.ca_file
        # Verification of names is off by default in librdkafka 2.0.
        settings["ssl.endpoint.identification.algorithm"] = "https"
        if access.certificate_file:
            settings["ssl.certificate.location"] = access.certificate_file
            settings["ssl.key.location"] = access.key_file
    if access.mechanism == "OAUTHBEARER":
        settings |= {
            "sasl.mechanism": access.mechanism,
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": "interop",
            "sasl.oauthbearer.client.secret": "interop",
            "sasl.oauthbearer.token.endpoint.url": access.token_url,
        }
    elif access.uses_sasl:
        settings |= {
            "sasl.mechanism": access.mechanism,
            "sasl.username": access.user,
            "sasl.password": access.password,
        }
    options = [word for key, value in settings.items() for word in ("-X", f"{key}={value}")]
    return subprocess.run(
        [command("kcat"), "-b", access.servers, *options, *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )
