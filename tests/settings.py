"""The desk's settings with keys of the tests' own, in a folder that is thrown away."""

import base64
import os
import tempfile

_folder = tempfile.TemporaryDirectory(prefix="desk-test-")
os.environ["DESK_STATE_DIR"] = _folder.name
os.environ["DESK_SECRET_KEY"] = "only-for-tests-" + "x" * 50
for number, ring in enumerate(("DESK_DIGEST_KEYS", "DESK_SEAL_KEYS", "DESK_LEDGER_KEYS"), start=1):
    os.environ[ring] = f"t{number}:" + base64.b64encode(bytes([number]) * 32).decode()

from config.settings import *  # noqa: E402, F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
