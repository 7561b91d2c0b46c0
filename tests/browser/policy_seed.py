"""Adds the policy's people and a draft with everything in its way to a filled desk; prints what it made as JSON."""

from __future__ import annotations

import json
import os

import django

PASSWORD = "only for this tour 7"
RIGHTS = {
    "erin": ("view_policydraft", "view_policyrevision", "add_policydraft", "change_policydraft", "view_decision"),
    "amir": ("view_policydraft", "view_policyrevision", "approve_policydraft", "view_elicitation"),
}
DESTINATION = {
    "origin": "https://wallet.example.net",
    "provider": "example-wallet",
    "tenants": ["acme"],
    "services": ["booking"],
    "purposes": ["payment"],
    "paths": ["/"],
    "parameters": {},
    "opaque": [],
    "binding": "subject",
    "sources": ["webhook"],
    "connect_page": False,
    "reuse_results": False,
    "usual_seconds": 600,
}
CASES = [
    {
        "case_id": "own-wallet-is-admitted",
        "mode": "url",
        "kind": "admission",
        "expected": "ADMIT",
        "input": {
            "wire": "2025-11-25",
            "delivery": "create",
            "capabilities": {"elicitation": {"url": {}}},
            "purpose": "payment",
            "request": {"mode": "url", "message": "Pay.", "url": "https://wallet.example.org/pay"},
        },
    }
]


def main() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    django.setup()
    from django.contrib.auth.models import User

    from elicitation.policy.document import lay_over
    from elicitation.services import drafts, revisions
    from tests.people import staff

    for kind in ("light", "dark", "phone"):
        for name, codenames in RIGHTS.items():
            staff(f"{name}-{kind}", *codenames, password=PASSWORD)
    present = revisions.active()
    changed = {
        "destinations": [DESTINATION],
        "vocabulary": {"deny": [*present.document.vocabulary.deny[4:], "badge number", "door code"], "allow": []},
    }
    document = lay_over(present.document, changed)
    cases = drafts.checked_cases(json.dumps(CASES))
    hostile = "Move to the <b>wallet</b> \u202eyletelpmoc"
    draft = drafts.begin(hostile, present, document, cases, User.objects.get(username="erin-light"))
    print(json.dumps({"draft": draft.pk}))  # noqa: T201 - the parent process reads it


if __name__ == "__main__":
    main()
