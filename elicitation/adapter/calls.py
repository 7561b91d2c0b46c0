"""The desk's HTTP API as the adapter uses it: bounded retries, typed errors, and nothing kept."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import anyio
import httpx

from elicitation.adapter.errors import Denied, DeskUnavailable, EvidenceWaiting, Refused

#: Every call of the API is idempotent, so each may be tried again with the same body.
ATTEMPTS: Final = 3
ATTEMPT_SECONDS: Final = 4.0
BACK_OFF: Final = (0.2, 0.8)
#: A desk may ask for a longer pause than ours, up to this: a person is waiting.
LONGEST_BACK_OFF: Final = 2.0

NOT_ASKED: Final = "The elicitation desk cannot be reached, so nobody was asked. Please try again in a few minutes."
NOT_RECORDED: Final = (
    "The elicitation desk cannot be reached, so the answer was not recorded and is not used. Please try again."
)
NOT_KNOWN: Final = (
    "The elicitation desk cannot be reached, so the state of this question is not known. Please try again."
)


@dataclass(frozen=True, slots=True)
class Reply:
    """A 2xx reply: its JSON object, and how long the desk asks to be left alone."""

    body: Mapping[str, object]
    retry_after: float | None


class Calls:
    """Sends one call and reads its reply. The key goes to ``base_url`` alone: redirects are not followed."""

    def __init__(self, base_url: str, key: str, client: httpx.AsyncClient | None) -> None:
        self._root = base_url.rstrip("/") + "/api/v1/"
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self._own = client is None
        self._client = client or httpx.AsyncClient()

    async def aclose(self) -> None:
        """Close the HTTP client, if it is ours."""
        if self._own:
            await self._client.aclose()

    async def post(self, path: str, body: Mapping[str, object], *, failing: str) -> Reply:
        """POST ``body``. Raises :class:`Refused` on 4xx, :class:`DeskUnavailable` with the sentence ``failing``."""
        content = json.dumps(body, allow_nan=False).encode("ascii")
        return await self._call("POST", path, content, failing)

    async def get(self, path: str, *, failing: str) -> Reply:
        """GET ``path``. Raises as :meth:`post` does."""
        return await self._call("GET", path, None, failing)

    async def wait(self, path: str, seconds: int, *, failing: str) -> Reply:
        """GET ``path`` once, which the desk may answer as late as after ``seconds``. Raises as :meth:`post` does."""
        query = f"{path}?seconds={seconds}"
        return await self._call("GET", query, None, failing, attempts=1, seconds=ATTEMPT_SECONDS + seconds)

    async def _call(
        self,
        method: str,
        path: str,
        content: bytes | None,
        failing: str,
        *,
        attempts: int = ATTEMPTS,
        seconds: float = ATTEMPT_SECONDS,
    ) -> Reply:
        asked: float | None = None
        for attempt in range(attempts):
            if attempt:
                # Spread out, so that many servers do not return to a restarted desk in the same instant.
                pause = BACK_OFF[attempt - 1] * random.uniform(0.5, 1.5)  # noqa: S311 - not a secret
                await anyio.sleep(max(pause, min(asked or 0.0, LONGEST_BACK_OFF)))
            try:
                response = await self._client.request(
                    method,
                    self._root + path,
                    content=content,
                    headers=self._headers,
                    timeout=seconds,
                    follow_redirects=False,
                )
            except httpx.TransportError:
                continue
            if response.status_code < 500:
                return _read(response, failing)
            asked = _seconds(response.headers.get("retry-after"))
        raise DeskUnavailable(failing)


def entry_path(entry_id: str, *call: str) -> str:
    """The path of one entry, or of a call on it, safe for any id."""
    return "/".join(("elicitations", quote(entry_id, safe=""), *call))


def _read(response: httpx.Response, failing: str) -> Reply:
    try:
        body = response.json()
    except ValueError:
        body = None
    retry_after = _seconds(response.headers.get("retry-after"))
    if response.is_success:
        if not isinstance(body, dict):
            raise DeskUnavailable(failing)
        return Reply(body, retry_after)
    if not 400 <= response.status_code < 500 or not isinstance(body, dict):
        raise DeskUnavailable(failing)  # whatever answered there, it is not a desk
    raise _refusal(response.status_code, body, retry_after)


def _refusal(status: int, problem: Mapping[str, object], retry_after: float | None) -> Refused:
    code, at = _text(problem, "code"), _text(problem, "at")
    detail = _text(problem, "detail") or _text(problem, "title")
    decision = problem.get("decision")
    if isinstance(decision, dict) or status == httpx.codes.TOO_MANY_REQUESTS:
        decided = decision if isinstance(decision, dict) else {}
        return Denied(
            status,
            _text(decided, "rule") or code,
            _text(decided, "advice") or detail,
            at=_text(decided, "at") or at,
            source=_text(decided, "source"),
            decision_id=_text(problem, "decision_id"),
            retry_after=retry_after,
        )
    kind = EvidenceWaiting if code == "evidence_waiting" else Refused
    return kind(status, code, detail, at=at, state=_text(problem, "state"))


def _text(body: Mapping[str, object], name: str) -> str:
    value = body.get(name)
    return value if isinstance(value, str) else ""


def _seconds(header: str | None) -> float | None:
    return float(header) if header is not None and header.isascii() and header.isdigit() else None
