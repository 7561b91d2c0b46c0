"""PostgreSQL servers of the tests' own, of whatever version is at hand."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.commands.running import free_port

#: Folders with ``bin/initdb`` of other versions, separated by colons.
OTHERS = "OTHER_POSTGRES"


def programs() -> Path:
    """The distribution's, with its clients."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not found:
        raise FileNotFoundError("no PostgreSQL of the distribution")
    return found[-1]


def others() -> list[Path]:
    return [Path(folder, "bin") for folder in os.environ.get(OTHERS, "").split(":") if folder]


@dataclass(frozen=True, slots=True)
class Server:
    port: int

    def url(self, name: str) -> str:
        return f"postgres://postgres@127.0.0.1:{self.port}/{name}"

    def run(self, program: str, *arguments: str, given: bytes = b"") -> bytes:
        """What a client of the distribution's writes."""
        place = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "--no-password"]
        done = subprocess.run([programs() / program, *place, *arguments], input=given, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()[-2000:]
        return done.stdout


@contextmanager
def server(binaries: Path) -> Iterator[Server]:
    """A server of this version. It does not run as root, so its data lies where another user gets to."""
    with TemporaryDirectory(prefix="desk-postgres-") as folder:
        Path(folder).chmod(0o711)
        data, port = Path(folder, "data"), free_port()
        data.mkdir()
        as_whom: list[str] = []
        if os.geteuid() == 0:
            shutil.chown(data, "postgres")
            as_whom = ["runuser", "-u", "postgres", "--"]
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"

        def own(program: str, *arguments: str) -> None:
            command = [*as_whom, str(binaries / program), "-D", str(data), *arguments]
            done = subprocess.run(command, cwd="/", check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            assert done.returncode == 0, done.stderr.decode()[-2000:]

        own("initdb", "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C")
        own("pg_ctl", "-w", "-l", str(data / "log"), "-o", options, "start")
        try:
            yield Server(port)
        finally:
            own("pg_ctl", "-w", "-m", "immediate", "stop")
