"""``manage.py provider_key``: webhook secrets of providers, shown once."""

from __future__ import annotations

import os
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from elicitation.management.base import DeskCommand
from elicitation.management.parties import provider_named
from elicitation.services import keys


class Command(DeskCommand):
    help = (
        "Create or revoke the secret with which a provider signs its events (Standard Webhooks). A secret is shown "
        "once and kept sealed; several are good at once, so that they can be rotated.\n\n"
        "Example: python3 manage.py provider_key create acme example-pay --open"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        create = verbs.add_parser("create", help="a new secret")
        create.add_argument("--open", action="store_true", help="open the tenant and the provider when they are new")
        revoke = verbs.add_parser("revoke", help="end every secret at once: the provider is then not heard")
        for verb in (create, revoke):
            verb.add_argument("tenant")
            verb.add_argument("provider")

    def handle(self, *args: Any, **options: Any) -> None:
        provider = provider_named(options["tenant"], options["provider"], may_open=options.get("open", False))
        match options["verb"]:
            case "create":
                self.stdout.write(keys.create_provider_key(provider))
                path = f"/api/v1/providers/{provider.slug}/events"
                if "DESK_BASE_URL" in os.environ:
                    self.note(f"Events go to {settings.DESK_BASE_URL}{path}")
                else:
                    self.note(f"Events go to {path} at the desk's address; DESK_BASE_URL would name it here.")
            case "revoke":
                count = keys.revoke_provider_keys(provider)
                if not count:
                    raise CommandError("The provider has no live secret.", returncode=2)
                self.note(f"Revoked: {count}. The provider is not heard any more.")
