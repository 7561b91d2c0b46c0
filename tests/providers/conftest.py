"""A provider whose certificate is trusted, and one authority for all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.providers.authority import Authority
from tests.providers.server import ProviderServer


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def provider(authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    with ProviderServer(tmp_path, authority) as server:
        monkeypatch.setenv("SSL_CERT_FILE", str(server.ca_file))
        yield server


@pytest.fixture
def elsewhere(tmp_path: Path, authority: Authority) -> Iterator[ProviderServer]:
    """A second server, which must not be asked."""
    with ProviderServer(tmp_path, authority) as server:
        yield server
