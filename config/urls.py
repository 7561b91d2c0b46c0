"""Every address of the desk, from here."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from config import health
from elicitation.admin.answers import answer_page, pack_view
from elicitation.admin.lookup import LookupPage
from elicitation.admin.rules import rules_page
from elicitation.admin.values import ValuePage
from elicitation.api.ledger import Keys

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/lookup/", admin.site.admin_view(LookupPage.as_view()), name="lookup"),
    path("admin/rules/", admin.site.admin_view(rules_page), name="rules"),
    path("admin/ask/", admin.site.admin_view(ValuePage.as_view()), name="value"),
    path("admin/answers/<str:public_id>/", admin.site.admin_view(answer_page), name="answers"),
    path("admin/answers/<str:public_id>/pack/", admin.site.admin_view(pack_view), name="evidence_pack"),
    path("admin/", admin.site.urls),
    path("api/", include("elicitation.api.urls")),
    path("ledger/keys", Keys.as_view()),
    path("healthz", health.healthz),
    path("readyz", health.readyz),
]

handler400 = "config.errors.bad_request"
handler403 = "config.errors.forbidden"
handler404 = "config.errors.not_found"
handler500 = "config.errors.server_error"
