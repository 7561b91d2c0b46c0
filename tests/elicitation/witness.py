"""A witness of a history: who said what so far, how everything stood at the last look, and what may come of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from elicitation.models import Elicitation
from elicitation.services import proof, sealing
from tests import builders
from tests.elicitation.invariants import Line, Stored, assert_lawful, assert_refused, assert_whole, stored


@dataclass
class Witness:
    """``confirmed`` are the references that the provider gave for Alice's own work, ``heard`` those that may be hers;
    ``failed``: the provider ended it. ``spoken_of`` is the entry that the last event was about, if it was about one."""

    confirmed: set[tuple[UUID, str]] = field(default_factory=set)
    heard: set[tuple[UUID, str]] = field(default_factory=set)
    failed: set[UUID] = field(default_factory=set)
    withdrawn: bool = False
    spoken_of: UUID | None = None
    refused: bool = False
    seen: dict[UUID, Stored] = field(default_factory=dict)

    def about(self, public_id: str) -> UUID:
        """The next event is about this entry. Returns its number."""
        self.spoken_of = builders.entry_of(public_id).uid
        return self.spoken_of

    def time_was_turned(self) -> None:
        """What has changed since is a test's own doing."""
        self.seen = stored()

    def look(self) -> None:
        """Hold everything against what must be so, and what has happened since the last look against what may."""
        now = stored()
        for uid, entry in now.items():
            assert_whole(entry)
            before = self.seen.get(uid)
            if before is not None:
                assert_lawful(before, entry)
                self._holds_between(uid, before, entry)
            self._was_said(uid, entry, entry.told_since(before) if before else entry.ledger)
        self.seen, self.spoken_of, self.refused = now, None, False

    def _holds_between(self, uid: UUID, before: Stored, after: Stored) -> None:
        events = {line.event for line in after.told_since(before)}
        if uid == self.spoken_of:
            assert "deadline" in events or not before.overdue, "at the deadline it is over, whoever speaks of it"
            if self.refused:
                assert_refused(before, after)
        elif self.spoken_of is not None:
            assert events <= {"deadline"}, "what is said of one entry changes no other"

    def _was_said(self, uid: UUID, entry: Stored, told: tuple[Line, ...]) -> None:
        """Nothing is accepted, completed or ended without somebody's word, nor against the policy in force."""
        for line in told:
            unanswered = line.source == "ADMITTED" and entry["delivery"] != "url_required"
            match line.event, line.target:
                case "answer_accept", "CONSENT_PENDING":
                    assert not self.withdrawn or line.source != "ADMITTED"
                case "evidence", "COMPLETE":
                    assert not unanswered
                    assert not self.withdrawn
                    assert (uid, reference_of(uid)) in self.confirmed
                case "honour_evidence", _:
                    assert (uid, reference_of(uid)) in self.confirmed | self.heard
                    others = Elicitation.objects.filter(operation_digest=entry["operation_digest"]).exclude(uid=uid)
                    assert not others.filter(applied_at__gt=entry["admitted_at"]).exists(), "the work counts once"
                case "provider_failure", _:
                    assert not unanswered
                    assert uid in self.failed


def reference_of(uid: UUID) -> str:
    """The reference that completed the entry, in the clear."""
    entry = Elicitation.objects.get(uid=uid)
    return sealing.unseal(entry.result_ref, proof.seal_purpose(entry))
