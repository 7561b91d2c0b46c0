"""``manage.py provider_key``: secrets shared with providers, and how a provider signs and is asked."""

from __future__ import annotations

import os
import sys
from argparse import RawDescriptionHelpFormatter
from typing import Any, Final

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from elicitation.management.base import DeskCommand
from elicitation.management.parties import provider_named
from elicitation.models import KeyUse, LookupKind, Provider, ProviderKey, SignatureScheme
from elicitation.services import keys, parties
from elicitation.services.keys import KeyProblem
from elicitation.services.parties import NotChanged

_LOOKUPS: Final = {"none": LookupKind.NONE, "generic": LookupKind.GENERIC, "stripe": LookupKind.STRIPE}
#: More than any secret has: the rest of a wrong file is not read.
_MOST_READ: Final = 4096


class Command(DeskCommand):
    help = (
        "The secrets shared with a provider: those with which it signs its events, and those with which the desk asks\n"
        "it for a status. They are kept sealed; several are good at once, so that they can be rotated.\n\n"
        "Examples:\n"
        "  python3 manage.py provider_key create acme example-pay --open\n"
        "  python3 manage.py provider_key set acme example-pay --lookup generic --status-url "
        "https://pay.example.com/status\n"
        "  python3 manage.py provider_key set acme example-pay --scheme stripe --lookup stripe\n"
        "  python3 manage.py provider_key import acme example-pay --use webhook < signing-secret.txt\n"
        "  python3 manage.py provider_key import acme example-pay --use lookup < api-key.txt\n"
        "  python3 manage.py provider_key list acme example-pay\n"
        "  python3 manage.py provider_key revoke acme example-pay --kid w1a2b3c4d"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        verbs = parser.add_subparsers(dest="verb", required=True)
        create = verbs.add_parser("create", help="a new signing secret (Standard Webhooks), shown once")
        taking = verbs.add_parser("import", help="keep a secret that the provider gave, read from standard input")
        taking.add_argument("--use", choices=KeyUse.values, default=str(KeyUse.WEBHOOK), help="webhook by default")
        listing = verbs.add_parser("list", help="a provider's keys: id, use, since when; never the secret")
        revoke = verbs.add_parser("revoke", help="end one secret, or all: the provider is then not heard or asked")
        which = revoke.add_mutually_exclusive_group(required=True)
        which.add_argument("--kid", help="end the one with this id, as list shows it")
        which.add_argument("--all", action="store_true", help="end every one of them at once")
        setting = verbs.add_parser("set", help="how the provider signs, and how it is asked for a status")
        setting.add_argument("--scheme", choices=SignatureScheme.values)
        setting.add_argument("--lookup", choices=_LOOKUPS)
        setting.add_argument("--status-url", help="https://…; for stripe, its own is the default")
        for verb in (create, taking, setting):
            verb.add_argument("--open", action="store_true", help="open the tenant and the provider when they are new")
        for verb in (create, taking, listing, revoke, setting):
            verb.add_argument("tenant")
            verb.add_argument("provider")

    def handle(self, *args: Any, **options: Any) -> None:
        provider = provider_named(options["tenant"], options["provider"], may_open=options.get("open", False))
        try:
            match options["verb"]:
                case "create":
                    self.stdout.write(keys.create_provider_key(provider))
                    self._say_where(provider)
                case "import":
                    self._import(provider, KeyUse(options["use"]))
                case "list":
                    self._list(provider)
                case "revoke":
                    self._revoke(provider, options["kid"])
                case "set":
                    self._set(provider, options)
        except (KeyProblem, NotChanged) as problem:
            raise CommandError(str(problem), returncode=2) from None

    def _import(self, provider: Provider, use: KeyUse) -> None:
        if sys.stdin.isatty():
            self.note("Paste the secret, then Enter and Ctrl-D. It is shown while you paste it; a file is better.")
        kid = keys.import_provider_key(provider, sys.stdin.read(_MOST_READ).strip(), use)
        self.stdout.write(kid)
        if use is KeyUse.WEBHOOK:
            self._say_where(provider)

    def _list(self, provider: Provider) -> None:
        for key in ProviderKey.objects.filter(provider=provider).order_by("pk"):
            ended = f"revoked {key.revoked_at:%Y-%m-%d %H:%M}Z" if key.revoked_at else "live"
            self.stdout.write(f"{key.kid}  {key.use}  since {key.created_at:%Y-%m-%d %H:%M}Z  {ended}")

    def _revoke(self, provider: Provider, kid: str | None) -> None:
        count = keys.revoke_provider_keys(provider, kid=kid)
        if not count:
            raise CommandError(
                f"The provider has no live secret{'' if kid is None else ' with this id'}.", returncode=2
            )
        live = set(ProviderKey.objects.filter(provider=provider, revoked_at=None).values_list("use", flat=True))
        heard = "" if KeyUse.WEBHOOK in live else " The provider is not heard any more."
        self.note(f"Revoked: {count}.{heard}")

    def _set(self, provider: Provider, options: dict[str, Any]) -> None:
        asked = options["lookup"]
        changed = parties.change_provider(
            provider,
            scheme=options["scheme"],
            lookup=None if asked is None else _LOOKUPS[asked],
            status_url=options["status_url"],
        )
        provider.refresh_from_db()
        self.stdout.write(f"signs: {provider.get_scheme_display()}")
        at = f", at {provider.status_url}" if provider.status_url else ""
        self.stdout.write(f"is asked: {provider.get_lookup_display()}{at}")
        if not changed:
            self.note("Nothing was changed.")
        if provider.lookup != LookupKind.NONE and keys.lookup_key(provider) is None:
            self.note("It has no key for look-ups yet: `import --use lookup` takes one from standard input.")
        if not keys.provider_keys(provider):
            self.note("It has no secret that signs its events yet, so it is not heard.")

    def _say_where(self, provider: Provider) -> None:
        path = f"/api/v1/providers/{provider.slug}/events"
        if "DESK_BASE_URL" in os.environ:
            self.note(f"Events go to {settings.DESK_BASE_URL}{path}")
        else:
            self.note(f"Events go to {path} at the desk's address; DESK_BASE_URL would name it here.")
