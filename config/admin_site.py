"""The admin under the desk's name."""

from django.contrib import admin


class DeskAdminSite(admin.AdminSite):
    site_header = "Elicitation Desk"
    site_title = "Elicitation Desk"
    index_title = "What is on the desk"
    site_url = None
