"""A policy document as far as it concerns a scope: the policy is the whole desk's, and names every tenant's parties."""

from __future__ import annotations

from dataclasses import replace

from elicitation.models import Provider, Service
from elicitation.policy.document import Document
from elicitation.services.scoping import Scope


def within(document: Document, scope: Scope) -> Document:
    """``document`` less the destinations, tenants, services and providers of whoever is outside of ``scope``.

    What it says for everybody (modes, windows, limits, forms, vocabulary) stays. The whole desk sees it as it is.
    """
    if scope.whole_desk:
        return document
    services = set(scope.rows(Service).values_list("slug", flat=True))
    providers = set(scope.rows(Provider).values_list("slug", flat=True))
    return replace(
        document,
        destinations=tuple(
            replace(
                destination,
                tenants=mine,
                services=tuple(slug for slug in destination.services if slug in services),
                provider=destination.provider if destination.provider in providers else "",
            )
            for destination in document.destinations
            if (mine := tuple(slug for slug in destination.tenants if scope.holds(slug)))
        ),
    )
