"""Produce over SASL_PLAINTEXT with an access token out of a file (`oauthbearer_issuer.py` makes one).

python examples/produce_oauthbearer.py 127.0.0.1:19095 /tmp/issuer/token
"""

import base64
import json
import sys
from pathlib import Path

from confluent_kafka import Producer

servers, token_file = sys.argv[1], Path(sys.argv[2])


def token(_: str) -> tuple[str, float]:
    """Called whenever a token is needed: returns its text and its expiry time."""
    text = token_file.read_text()
    payload = text.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return text, claims["exp"]


producer = Producer(
    {
        "bootstrap.servers": servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": token,
    }
)
producer.produce("greetings", b"hello", on_delivery=lambda error, message: print(error or message.topic()))
producer.flush(10)
