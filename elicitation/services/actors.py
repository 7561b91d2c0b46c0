"""Who does something, as the ledger names them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from elicitation.models import Provider, Service


class ActorKind(StrEnum):
    CLIENT = "client"
    USER = "user"
    SERVICE = "service"
    PROVIDER = "provider"
    OPERATOR = "operator"
    POLICY = "policy"
    SCHEDULER = "scheduler"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Actor:
    """``id`` is a slug or an internal number, never a name. ``tenant`` tells apart services of the same slug."""

    kind: ActorKind
    id: str = ""
    role: str = ""
    tenant: str = ""

    @property
    def caller(self) -> str:
        """Kind and id, unlike those of anybody else on the desk."""
        return f"{self.kind}:{self.tenant}/{self.id}" if self.tenant else f"{self.kind}:{self.id}"


SCHEDULER = Actor(ActorKind.SCHEDULER)
POLICY = Actor(ActorKind.POLICY)
UNNAMED = Actor(ActorKind.UNKNOWN)


def client() -> Actor:
    """The client whose answer a service reports."""
    return Actor(ActorKind.CLIENT)


def service(caller: Service) -> Actor:
    return Actor(ActorKind.SERVICE, caller.slug, tenant=caller.tenant.slug)


def provider(caller: Provider) -> Actor:
    return Actor(ActorKind.PROVIDER, caller.slug)


def operator(user_id: int) -> Actor:
    return Actor(ActorKind.OPERATOR, str(user_id), "operator")


def administrator(user_id: int) -> Actor:
    """Somebody who sets up parties."""
    return Actor(ActorKind.OPERATOR, str(user_id), "administrator")


def support(user_id: int) -> Actor:
    """Somebody who looks up single elicitations."""
    return Actor(ActorKind.OPERATOR, str(user_id), "support")


def policy_editor(user_id: int) -> Actor:
    return Actor(ActorKind.OPERATOR, str(user_id), "policy_editor")


def policy_approver(user_id: int) -> Actor:
    """Somebody who approves or activates policy, or tries to."""
    return Actor(ActorKind.OPERATOR, str(user_id), "policy_approver")


def shell() -> Actor:
    """Somebody at the machine's own shell."""
    return Actor(ActorKind.OPERATOR, "", "shell")
