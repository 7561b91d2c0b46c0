"""The routes of the API, version 1, with its OpenAPI and readable docs."""

from __future__ import annotations

from django.urls import path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from elicitation.api import events, following, ledger, rehearsals, views, webhooks

_ONE = "v1/elicitations/<str:public_id>"

urlpatterns = [
    path("v1/elicitations", views.Elicitations.as_view()),
    path(_ONE, views.OneElicitation.as_view()),
    path(f"{_ONE}/wait", following.Wait.as_view()),
    path("v1/completions", following.Completions.as_view()),
    path(f"{_ONE}/progress", events.ReportProgress.as_view()),
    path(f"{_ONE}/answer", events.ReportAnswer.as_view()),
    path(f"{_ONE}/completion", events.ReportCompletion.as_view()),
    path(f"{_ONE}/lost", events.ReportLost.as_view()),
    path(f"{_ONE}/retry", events.Retry.as_view()),
    path(f"{_ONE}/cancel", events.Cancel.as_view()),
    path(f"{_ONE}/consume", events.Consume.as_view()),
    path("v1/decisions", rehearsals.Decisions.as_view()),
    path("v1/url-required-errors", rehearsals.UrlRequiredErrors.as_view()),
    path("v1/rules", rehearsals.Rules.as_view()),
    path("v1/ledger", ledger.Ledger.as_view()),
    path("v1/exports", ledger.Exports.as_view()),
    path("v1/exports/verifier", ledger.Verifier.as_view()),
    path("v1/exports/<str:export_id>", ledger.OneExport.as_view()),
    path("v1/exports/<str:export_id>/file", ledger.ExportFile.as_view()),
    path("v1/checkpoints", ledger.Checkpoints.as_view()),
    path("v1/checkpoints/consistency", ledger.Consistency.as_view()),
    path("v1/providers/<str:slug>/events", webhooks.ProviderEvents.as_view()),
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path("docs/", SpectacularSwaggerSplitView.as_view(url_name="schema"), name="docs"),
]
