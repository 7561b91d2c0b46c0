"""The routes of the API, version 1, with its OpenAPI and readable docs."""

from __future__ import annotations

from django.urls import path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from elicitation.api import views, webhooks

_ONE = "v1/elicitations/<str:public_id>"

urlpatterns = [
    path("v1/elicitations", views.Elicitations.as_view()),
    path(_ONE, views.OneElicitation.as_view()),
    path(f"{_ONE}/progress", views.ReportProgress.as_view()),
    path(f"{_ONE}/answer", views.ReportAnswer.as_view()),
    path(f"{_ONE}/completion", views.ReportCompletion.as_view()),
    path(f"{_ONE}/lost", views.ReportLost.as_view()),
    path(f"{_ONE}/retry", views.Retry.as_view()),
    path(f"{_ONE}/cancel", views.Cancel.as_view()),
    path(f"{_ONE}/consume", views.Consume.as_view()),
    path("v1/providers/<str:slug>/events", webhooks.ProviderEvents.as_view()),
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path("docs/", SpectacularSwaggerSplitView.as_view(url_name="schema"), name="docs"),
]
