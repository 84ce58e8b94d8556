"""An issuer of access tokens for experiments: creates a key, publishes it, signs a token for an hour.

    python examples/oauthbearer_issuer.py /tmp/issuer alice

Brokers validate tokens with `jwks.json`, clients present `token`; the private key is not stored. Needs
the extra security.
"""

import json
import sys
import time
from pathlib import Path

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

folder, user = Path(sys.argv[1]), sys.argv[2]
folder.mkdir(parents=True, exist_ok=True)
key = ec.generate_private_key(ec.SECP256R1())
published = json.loads(ECAlgorithm.to_jwk(key.public_key())) | {"kid": "try-out", "use": "sig", "alg": "ES256"}
(folder / "jwks.json").write_text(json.dumps({"keys": [published]}))
now = int(time.time())
claims = {"iss": "https://issuer.example", "aud": "kafka", "sub": user, "iat": now, "exp": now + 3600}
token = folder / "token"
token.touch(mode=0o600)
token.write_text(jwt.encode(claims, key, "ES256", {"kid": "try-out"}))
