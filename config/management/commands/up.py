"""``python3 manage.py up``: everything the desk needs, in one terminal."""

from __future__ import annotations

import os
import secrets
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.core.checks import ERROR, Tags, run_checks
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from config import processes, supervisor
from elicitation.management.base import DeskCommand

OPERATOR: Final = "operator"


class Command(DeskCommand):
    help = (
        "Migrate, make the first operator where there is none, and run the web server and the schedule\n"
        "(and a worker, when CELERY_BROKER_URL is set) until SIGTERM or Ctrl-C.\n\n"
        "Example: python3 manage.py up --port 8010 --demo\n\n"
        "Exit codes: 0 stopped by a signal, 1 a process or the demo failed, 2 could not start."
    )
    requires_system_checks = ()  # those that matter to a start are run below; the whole set loads far more

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
        parser.add_argument("--port", type=int, default=8000, help="port to listen on (default: 8000)")
        parser.add_argument("--demo", action="store_true", help="also run `manage.py demo` against the desk")

    def handle(self, *args: Any, host: str, port: int, demo: bool, **options: Any) -> None:
        if not 0 < port < 65536:
            raise CommandError("--port is a number from 1 to 65535.", returncode=2)
        os.umask(0o077)  # the database and the keys are nobody else's to read
        supervisor.refuse_taken_port(host, port)
        supervisor.refuse_dead_broker()
        with supervisor.alone_in_folder():
            self._prepare()
            self._run(host, port, demo)

    def _prepare(self) -> None:
        """Bring the database up to date, quietly, and at once when it already is."""
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            self.note("Preparing the database ...")
            call_command("migrate", verbosity=0, interactive=False, skip_checks=True)
        wrong = [
            problem
            for problem in run_checks(tags=[Tags.security, Tags.database, Tags.compatibility], databases=["default"])
            if problem.is_serious(ERROR)
        ]
        if wrong:
            raise CommandError(f"{wrong[0].msg} {wrong[0].hint or ''}".strip(), returncode=2)
        users = get_user_model().objects
        if not users.exists():
            password = secrets.token_urlsafe(12)
            users.create_superuser(OPERATOR, password=password)
            self.stdout.write(f"First operator: {OPERATOR}, password: {password} (shown this once)")
            self.stdout.flush()
        connection.close()

    def _run(self, host: str, port: int, demo: bool) -> None:
        environment, address = supervisor.environment_for(host, port)
        if demo:
            environment.setdefault("DESK_LOG_LEVEL", "WARNING")  # the demo's story is what this start is for
        watch = supervisor.Watch()
        demo_failed = False
        try:
            watch.children += supervisor.start_children(host, port, environment)
            if watch.until(lambda: supervisor.serves(host, port), supervisor.START_SECONDS):
                self.stdout.write(f"Elicitation Desk serves {address} - stop it with Ctrl-C")
                self.stdout.flush()
            elif not watch.stopping:
                raise CommandError("The web server does not answer, so the desk is stopped.", returncode=1)
            if demo and not watch.stopping:
                show = processes.start("demo", ["manage.py", "demo"], environment)
                try:
                    if watch.until(show.ended) and show.process.returncode:
                        demo_failed = True
                        self.note(f"The demo failed (exit code {show.process.returncode}); the desk goes on.")
                finally:
                    processes.stop([show])
            watch.until(lambda: False)
        finally:
            processes.stop(watch.children)
        if demo_failed:
            raise CommandError("Stopped; the demo had failed.", returncode=1)
