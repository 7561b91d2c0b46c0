"""``manage.py service_key``: keys of services, shown once."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from elicitation.management.base import DeskCommand
from elicitation.management.parties import service_named
from elicitation.models import ServiceKey
from elicitation.services import keys
from elicitation.services.keys import KeyProblem, Scope


class Command(DeskCommand):
    help = (
        "Create, rotate or revoke a service's key. A key is shown once and kept as a hash. After a rotation the old "
        "key is good until you revoke it.\n\n"
        "Example: python3 manage.py service_key create acme booking --scopes admit,answer,consume,read --open"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        create = verbs.add_parser("create", help="a new key")
        create.add_argument("--scopes", required=True, help=f"comma-separated, of {', '.join(Scope)}")
        create.add_argument("--open", action="store_true", help="open the tenant and the service when they are new")
        rotate = verbs.add_parser("rotate", help="a new key with the scopes of a live one")
        revoke = verbs.add_parser("revoke", help="end a key at once")
        listing = verbs.add_parser("list", help="a service's keys: prefix, scopes, since when")
        for verb in (create, rotate, revoke, listing):
            verb.add_argument("tenant")
            verb.add_argument("service")
        for verb in (rotate, revoke):
            verb.add_argument("prefix", help="the twelve characters after desk_")

    def handle(self, *args: Any, **options: Any) -> None:
        service = service_named(options["tenant"], options["service"], may_open=options.get("open", False))
        try:
            match options["verb"]:
                case "create":
                    scopes = [scope.strip() for scope in options["scopes"].split(",")]
                    self.stdout.write(keys.create_service_key(service, scopes))
                case "rotate":
                    self.stdout.write(keys.rotate_service_key(service, options["prefix"]))
                case "list":
                    for key in ServiceKey.objects.filter(service=service).order_by("pk"):
                        ended = f"revoked {key.revoked_at:%Y-%m-%d %H:%M}Z" if key.revoked_at else "live"
                        allowed = ",".join(key.scopes)
                        self.stdout.write(f"{key.prefix}  {allowed}  since {key.created_at:%Y-%m-%d %H:%M}Z  {ended}")
                case "revoke":
                    keys.revoke_service_key(service, options["prefix"])
                    self.note("The key opens nothing any more.")
        except KeyProblem as problem:
            raise CommandError(str(problem), returncode=2) from None
