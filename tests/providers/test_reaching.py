"""A look-up reaches the provider that the address names and nothing else: not late, not in the clear, by no detour."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from elicitation.policy import identifiers
from elicitation.providers import Answer, Limits, Status, ask
from tests.providers.authority import Authority
from tests.providers.server import Manner, ProviderServer, reply, says

ID = identifiers.mint_text(bytes(range(16)))
KEY = "key-of-the-desk"
PENDING = b'{"status": "pending"}'
QUICK = Limits(connect_seconds=0.8, total_seconds=0.8)
#: Far above the limits in use here, and far below the patience of the servers.
SOON = 5.0


def unreachable(problem: str) -> Answer:
    return Answer(Status.UNREACHABLE, problem=problem)


def asked(provider: ProviderServer, limits: Limits | None = None) -> Answer:
    return ask("generic", provider.status_url, KEY, ID, limits)


def test_a_handshake_that_never_comes_is_not_waited_for(
    tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ProviderServer(tmp_path, authority, manner=Manner.MUTE) as mute:
        monkeypatch.setenv("SSL_CERT_FILE", str(mute.ca_file))
        began = time.monotonic()
        assert asked(mute, Limits(connect_seconds=0.2)) == unreachable("timeout")
        assert time.monotonic() - began < Limits().total_seconds


def test_a_resolver_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    def hang(*_: Any, **__: Any) -> Any:
        released.wait(SOON)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    began = time.monotonic()
    try:
        assert ask("generic", "https://example.com/status", KEY, ID, QUICK) == unreachable("timeout")
        assert time.monotonic() - began < SOON
    finally:
        released.set()


def test_a_host_that_does_not_exist_is_no_connection() -> None:
    assert ask("generic", "https://provider.invalid/status", KEY, ID).problem in ("connect", "timeout")


@pytest.fixture
def full() -> Iterator[tuple[str, int]]:
    """An address that swallows every attempt to connect: its queue is full, and nobody takes from it."""
    with socket.socket() as listener, ExitStack() as waiting:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        yield listener.getsockname()


def test_an_address_that_swallows_everything_is_not_waited_for(full: tuple[str, int]) -> None:
    began = time.monotonic()
    limits = Limits(connect_seconds=0.3)
    assert ask("generic", f"https://127.0.0.1:{full[1]}/status", KEY, ID, limits) == unreachable("timeout")
    assert time.monotonic() - began < limits.total_seconds


def test_of_several_addresses_the_one_that_answers_is_asked(
    provider: ProviderServer, full: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        places = [closed.getsockname(), full, ("127.0.0.1", provider.port)]
        found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", place) for place in places]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        provider.script(says({"status": "pending"}))
        assert asked(provider, Limits(connect_seconds=1.0)) == Answer(Status.PENDING)


def test_a_closed_port_is_no_connection() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"https://127.0.0.1:{closed.getsockname()[1]}/status"
        assert ask("generic", address, KEY, ID) == unreachable("connect")


@pytest.mark.parametrize(
    ("names", "expired"), [(("example.com",), False), (("localhost",), True)], ids=["another's", "expired"]
)
def test_a_certificate_that_does_not_hold_is_refused_before_anything_is_said(
    tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], expired: bool
) -> None:
    with ProviderServer(tmp_path, authority, names=names, expired=expired) as server:
        monkeypatch.setenv("SSL_CERT_FILE", str(server.ca_file))
        assert asked(server) == unreachable("tls")
        assert server.seen == []


def test_an_authority_that_is_not_trusted_is_refused(provider: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    provider.script(says({"status": "pending"}))
    assert asked(provider) == Answer(Status.PENDING)
    monkeypatch.delenv("SSL_CERT_FILE")
    assert asked(provider) == unreachable("tls")
    assert len(provider.seen) == 1


def test_a_server_without_tls_hears_nothing(tmp_path: Path, authority: Authority) -> None:
    with ProviderServer(tmp_path, authority, manner=Manner.PLAIN) as plain:
        assert asked(plain) == unreachable("tls")
        assert plain.seen == []


@pytest.mark.parametrize(
    "address",
    [
        "",
        "http://localhost:{port}/status",
        "HTTPS://localhost:{port}/status",
        "ftp://localhost:{port}/status",
        "//localhost:{port}/status",
        "https://user:word@localhost:{port}/status",
        "https://localhost:{port}/status#part",
        "https://localhost:{port}/sta tus",
        "https://localhost:{port}/status\r\nX-A: 1",
        "https://localhost:{port}/stätus",
        "https://löcalhost:{port}/status",
        "https://localhost:0/status",
        "https://localhost:65536/status",
        "https://.localhost:{port}/status",
        "https://a..b/status",
        "https://" + "a" * 64 + "/status",
        "https://[::zz]/status",
        "https://[1:2:3]/status",
        "https:///status",
        "https://localhost:{port}\\status",
    ],
)
def test_an_address_that_is_not_plain_https_is_not_asked(provider: ProviderServer, address: str) -> None:
    assert ask("generic", address.format(port=provider.port), KEY, ID) == unreachable("not_https")
    assert provider.connections == 0


@pytest.mark.parametrize("key", ["", " ", "two words", "a\r\nX-A: 1", "kéy", "a\x00", "x" * 4097], ids=ascii)
def test_without_a_key_that_can_be_sent_nobody_is_asked(provider: ProviderServer, key: str) -> None:
    assert ask("generic", provider.status_url, key, ID) == unreachable("no_key")
    assert provider.connections == 0


@pytest.mark.parametrize(("kind", "elicitation_id"), [("other", ID), ("generic", f"{ID}'"), ("stripe", "' OR '")])
def test_a_caller_that_asks_for_nonsense_is_told(provider: ProviderServer, kind: str, elicitation_id: str) -> None:
    with pytest.raises(ValueError):
        ask(kind, provider.status_url, KEY, elicitation_id)
    assert provider.connections == 0


def test_the_environment_cannot_send_the_key_elsewhere(
    provider: ProviderServer, elsewhere: ProviderServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{elsewhere.port}")
    netrc = tmp_path / "netrc"
    netrc.write_text("machine localhost login somebody password else\n")
    monkeypatch.setenv("NETRC", str(netrc))
    provider.script(says({"status": "pending"}))
    assert asked(provider) == Answer(Status.PENDING)
    assert elsewhere.connections == 0
    assert provider.seen[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_look_up_leaves_nothing_for_the_next(provider: ProviderServer) -> None:
    provider.script(reply(PENDING, headers={"Set-Cookie": "a=b; Path=/", "Connection": "keep-alive"}))
    asked(provider)
    asked(provider)
    assert provider.connections == 2
    assert [("cookie" in seen.headers) for seen in provider.seen] == [False, False]


def test_look_ups_at_once_do_not_mix(provider: ProviderServer) -> None:
    ids = [identifiers.mint_text(bytes([number]) * 16) for number in range(16)]
    for number, each in enumerate(ids):
        provider.about(each, says({"status": "completed", "result_ref": f"pi_{number}"}))
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda each: ask("generic", provider.status_url, KEY, each), ids))
    assert [answer.result_ref for answer in answers] == [f"pi_{number}" for number in range(16)]
    assert len(provider.seen) == len(ids)
