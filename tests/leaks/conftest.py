"""A desk at which everybody has done everything once, with a mark in whatever can be filled."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.builders import Desk
from tests.leaks import playing, playing_inside
from tests.leaks.playing import Player
from tests.providers.server import ProviderServer


@pytest.fixture
def player(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Player]:
    """In an order in which each finds what it needs."""
    settings.DESK_EXPORT_DIR = tmp_path / "exports"
    with ProviderServer(tmp_path) as server:
        for name, value in server.trusting.items():
            monkeypatch.setenv(name, value)
        player = Player(desk, lambda text: monkeypatch.setattr("sys.stdin", io.StringIO(text)), tmp_path)
        playing.calls(player)
        playing.refused_calls(player)
        playing.words_of_a_provider(player)
        playing.answers_of_a_provider(player, server)
        playing_inside.operators_notes(player)
        playing_inside.people(player)
        playing_inside.reviews(player)
        playing_inside.drafts(player)
        playing_inside.at_the_shell(player)
        playing_inside.parties_names(player)
        playing_inside.auditors(player)
        yield player
