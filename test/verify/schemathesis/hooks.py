"""What schemathesis cannot know of this installation: which groups, accounts and times a request may name.

Requests that are meant to be right get such values; those that are meant to be wrong stay as they are. Each comes
from an address of its own, so that many wrong tokens are not taken for somebody who guesses.
"""

import os
import random

import schemathesis
from schemathesis import GenerationMode

# Not the common one, which begins anew with every case.
chance = random.SystemRandom()

REAL = {
    "groups": ["default"],
    "expires_at": "2099-01-01T00:00:00Z",
    "ends_at": "2099-01-01T00:00:00Z",
    "taken_at": "2026-01-01T00:00:00Z",
    "origins": ["https://app.example.com"],
    "plan": "pro",
}
OF_ACCOUNTS = ("keys", "tokens", "people", "destinations", "payments")
ACCOUNT = os.environ["SCHEMATHESIS_ACCOUNT"]  # empty: the token is an account's, which need not be named


@schemathesis.hook
def map_case(context, case):
    is_right = case.meta is not None and case.meta.generation.mode == GenerationMode.POSITIVE
    if is_right and isinstance(case.body, dict):
        for name, value in REAL.items():
            if case.body.get(name) is not None:
                case.body[name] = value
        if ACCOUNT and case.operation.path in [f"/api/v1/{name}" for name in OF_ACCOUNTS]:
            case.body["account"] = ACCOUNT
        else:
            case.body.pop("account", None)
        if case.body.get("role") in ("operator", "viewer"):
            case.body.pop("account", None)
    return case


@schemathesis.hook
def before_call(context, case, kwargs):
    case.headers = case.headers or {}
    case.headers["x-forwarded-for"] = ".".join(["10", *(str(chance.randrange(256)) for _ in range(3))])
