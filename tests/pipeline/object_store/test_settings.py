"""Access to a store, from the variables of AWS's tools."""

from __future__ import annotations

import pytest

from signalbox.pipeline.object_store.settings import StoreSettings

pytestmark = pytest.mark.spec("P10")
SECRET, TOKEN = "s3cr3t", "t0k3n"
LOGIN = {"AWS_ACCESS_KEY_ID": "user", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_SESSION_TOKEN": TOKEN}


def test_settings_come_from_the_environment_and_keep_secrets_out_of_texts() -> None:
    settings = StoreSettings.of_environment(
        {**LOGIN, "AWS_ENDPOINT_URL": "https://a", "AWS_DEFAULT_REGION": "eu-north-1", "AWS_MAX_ATTEMPTS": "3"}
    )
    assert (settings.endpoint, settings.region, settings.access_key) == ("https://a", "eu-north-1", "user")
    assert (settings.attempts, settings.allow_http, settings.faults()) == (3, False, [])
    assert SECRET not in repr(settings)
    assert TOKEN not in repr(settings)


def test_the_address_of_the_service_precedes_the_general_one_and_empty_is_none() -> None:
    both = {"AWS_ENDPOINT_URL": "https://a", "AWS_ENDPOINT_URL_S3": "https://b", "AWS_REGION": ""}
    assert StoreSettings.of_environment(both).endpoint == "https://b"
    settings = StoreSettings.of_environment({"AWS_ENDPOINT_URL": "", "AWS_ACCESS_KEY_ID": ""})
    assert settings == StoreSettings(region="us-east-1")


def test_commits_are_conditional_puts_whatever_the_environment_says() -> None:
    options = StoreSettings.of_environment({**LOGIN, "AWS_S3_ALLOW_UNSAFE_RENAME": "true"}).storage_options()
    assert (options["AWS_CONDITIONAL_PUT"], options["AWS_S3_ALLOW_UNSAFE_RENAME"]) == ("etag", "false")
    assert (options["AWS_SECRET_ACCESS_KEY"], options["AWS_SESSION_TOKEN"]) == (SECRET, TOKEN)
    assert "AWS_ENDPOINT_URL" not in options
    assert StoreSettings(attempts=1).storage_options()["max_retries"] == "0"


@pytest.mark.parametrize(
    ("environment", "fault"),
    [
        ({"AWS_ENDPOINT_URL": "http://h:9000"}, "without TLS: give an https one, or set AWS_ALLOW_HTTP=true"),
        ({"AWS_ENDPOINT_URL": "h:9000"}, "AWS_ENDPOINT_URL is h:9000: give http://host:port or https://host:port"),
        ({"AWS_ACCESS_KEY_ID": "user"}, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY belong together"),
    ],
)
def test_settings_that_cannot_work_are_faults(environment: dict[str, str], fault: str) -> None:
    [found] = StoreSettings.of_environment(environment).faults()
    assert fault in found
    allowed = StoreSettings.of_environment({"AWS_ENDPOINT_URL": "http://h:9000", "AWS_ALLOW_HTTP": "TRUE"})
    assert allowed.faults() == []
