"""What the registry keeps. Models hold columns and constraints; changes are made by ``elicitation.services``."""

from elicitation.models.elicitations import Elicitation
from elicitation.models.evidence import BadSignature, Evidence, EvidenceStatus, RefusedAttempt, WebhookDelivery
from elicitation.models.parties import (
    Client,
    KeyUse,
    LookupKind,
    Provider,
    ProviderKey,
    Service,
    ServiceKey,
    SignatureScheme,
    Subject,
    Tenant,
)
from elicitation.models.people import Seat
from elicitation.models.policy import Decision, PolicyApproval, PolicyDraft, PolicyRevision
from elicitation.models.proposals import HonourProposal
from elicitation.models.upkeep import Heartbeat

__all__ = [
    "BadSignature",
    "Client",
    "Decision",
    "Elicitation",
    "Evidence",
    "EvidenceStatus",
    "Heartbeat",
    "HonourProposal",
    "KeyUse",
    "LookupKind",
    "PolicyApproval",
    "PolicyDraft",
    "PolicyRevision",
    "Provider",
    "ProviderKey",
    "RefusedAttempt",
    "Seat",
    "Service",
    "ServiceKey",
    "SignatureScheme",
    "Subject",
    "Tenant",
    "WebhookDelivery",
]
