"""``python -m tests.crash``: a crash run by hand, as long as one likes. Exit codes: 0 clean, 1 found wrong, 2 could not
run."""

from __future__ import annotations

import argparse
import signal
import sys

from tests.crash.report import complaints, table
from tests.crash.running import CLIENTS, Plan, folder_of_a_run, run
from tests.crash.servers import BROKERS, CannotRun


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--flows", type=int, default=300)
    parser.add_argument("--broker", choices=sorted(BROKERS), default="redis")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3600, help="no flow is begun later (default: 3600)")
    parser.add_argument("--clients", type=int, default=CLIENTS, help=f"threads that play flows (default: {CLIENTS})")
    parser.add_argument("--errors", action="store_true", help="also show what the desk logged as errors")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))  # so that every server is ended on the way out
    with folder_of_a_run() as folder:
        try:
            outcome = run(Plan(given.broker, given.flows, given.seconds, given.seed, given.clients), folder, say)
        except CannotRun as problem:
            say(f"{problem}\nThe logs are in {folder}.")
            sys.exit(2)
        say("\n".join(table(outcome)))
        if given.errors or not outcome.verdict.clean:
            say("\n".join(complaints(outcome, folder)))
        if not outcome.verdict.clean:
            say(f"The logs are in {folder}.")
            sys.exit(1)


if __name__ == "__main__":
    main()
