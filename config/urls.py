"""Every address of the desk, from here."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from config import health
from elicitation.admin.rules import rules_page

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/rules/", admin.site.admin_view(rules_page), name="rules"),
    path("admin/", admin.site.urls),
    path("api/", include("elicitation.api.urls")),
    path("healthz", health.healthz),
    path("readyz", health.readyz),
]

handler400 = "config.errors.bad_request"
handler403 = "config.errors.forbidden"
handler404 = "config.errors.not_found"
handler500 = "config.errors.server_error"
