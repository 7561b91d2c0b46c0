"""``manage.py provider_key``: webhook secrets of providers, shown once."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from elicitation.management.parties import provider_named
from elicitation.services import keys


class Command(BaseCommand):
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
                self.stderr.write(f"Events go to {settings.DESK_BASE_URL}/api/v1/providers/{provider.slug}/events")
            case "revoke":
                self.stderr.write(f"{keys.revoke_provider_keys(provider)} secrets were revoked.")
