"""What the registry keeps. Models hold columns and constraints; changes are made by ``elicitation.services``."""

from elicitation.models.elicitations import Elicitation
from elicitation.models.evidence import Evidence, EvidenceStatus, RefusedAttempt, WebhookDelivery
from elicitation.models.parties import Client, Provider, ProviderKey, Service, ServiceKey, Subject, Tenant
from elicitation.models.policy import Decision, PolicyApproval, PolicyDraft, PolicyRevision
from elicitation.models.upkeep import Heartbeat

__all__ = [
    "Client",
    "Decision",
    "Elicitation",
    "Evidence",
    "EvidenceStatus",
    "Heartbeat",
    "PolicyApproval",
    "PolicyDraft",
    "PolicyRevision",
    "Provider",
    "ProviderKey",
    "RefusedAttempt",
    "Service",
    "ServiceKey",
    "Subject",
    "Tenant",
    "WebhookDelivery",
]
