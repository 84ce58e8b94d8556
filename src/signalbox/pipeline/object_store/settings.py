"""Access to an object store: address, region and login, from the environment variables that AWS's own tools read.

One object gives the settings of both clients: that of delta-rs, which reads and commits, and Arrow's, which writes
files in Spark's tasks and reads tables. Tasks on other nodes do not have the driver's environment, so the object is
sent to them. Secrets are in no `repr` and no message.

Each request has a limit of time, and so has repeating it: a store that answers 503 for a while delays a run, one that
never answers ends it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

CONNECT_TIMEOUT_SECONDS = 5
REQUEST_TIMEOUT_SECONDS = 30
RETRY_SECONDS = 60
# Arrow's client has no limit of time. It waits twice as long each time: 12 attempts took 140 s, 10 about a minute.
ATTEMPTS = 10
DEFAULT_REGION = "us-east-1"
_TRUE = ("1", "true", "on", "yes", "y")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """`endpoint`: None = AWS itself. `allow_http`: whether requests may go without TLS. `attempts`: of a request; None
    = about a minute of them. Without `access_key` both clients look for a login as AWS's tools do: a profile's file, a
    container's or a machine's role."""

    endpoint: str | None = None
    region: str = DEFAULT_REGION
    access_key: str | None = None
    secret_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    allow_http: bool = False
    virtual_hosted: bool = False
    attempts: int | None = None

    @staticmethod
    def of_environment(environment: Mapping[str, str]) -> StoreSettings:
        """The settings of the `AWS_…` variables; an empty variable is none."""

        def value(*names: str) -> str | None:
            return next((environment[name] for name in names if environment.get(name)), None)

        def flag(name: str) -> bool:
            return environment.get(name, "").lower() in _TRUE

        return StoreSettings(
            endpoint=value("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
            region=value("AWS_REGION", "AWS_DEFAULT_REGION") or DEFAULT_REGION,
            access_key=value("AWS_ACCESS_KEY_ID"),
            secret_key=value("AWS_SECRET_ACCESS_KEY"),
            session_token=value("AWS_SESSION_TOKEN"),
            allow_http=flag("AWS_ALLOW_HTTP"),
            virtual_hosted=flag("AWS_VIRTUAL_HOSTED_STYLE_REQUEST"),
            attempts=int(attempts) if (attempts := value("AWS_MAX_ATTEMPTS") or "").isdigit() else None,
        )

    def faults(self) -> list[str]:
        """Settings that no request could be sent with."""
        problems = []
        if self.endpoint is not None:
            address = urlsplit(self.endpoint)
            if address.scheme not in ("http", "https") or not address.hostname:
                problems.append(f"AWS_ENDPOINT_URL is {self.endpoint}: give http://host:port or https://host:port")
            elif address.scheme == "http" and not self.allow_http:
                problems.append(
                    f"AWS_ENDPOINT_URL is {self.endpoint}, without TLS: give an https one, or set AWS_ALLOW_HTTP=true"
                )
        if (self.access_key is None) != (self.secret_key is None):
            problems.append("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY belong together: set both, or none")
        return problems

    def storage_options(self) -> dict[str, str]:
        """The options of delta-rs. A commit is a put that fails if the object exists: without that, of two writers at
        the same time one would overwrite the other's commit."""
        login = {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_SESSION_TOKEN": self.session_token,
        }
        return {
            **{key: value for key, value in login.items() if value is not None},
            "AWS_REGION": self.region,
            "AWS_ALLOW_HTTP": str(self.allow_http).lower(),
            "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": str(self.virtual_hosted).lower(),
            "AWS_CONDITIONAL_PUT": "etag",
            "AWS_S3_ALLOW_UNSAFE_RENAME": "false",
            "connect_timeout": f"{CONNECT_TIMEOUT_SECONDS}s",
            "timeout": f"{REQUEST_TIMEOUT_SECONDS}s",
            "retry_timeout": f"{RETRY_SECONDS}s",
            "max_retries": str(self.attempts - 1 if self.attempts else 1000),  # by default the time is the limit
            "backoff_config.init_backoff": "250ms",
            "backoff_config.max_backoff": "5s",
        }
