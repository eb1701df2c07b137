"""An OpenID provider: django-oauth-toolkit with a database in a file. Usage: provider.py PORT FOLDER"""

import sys

import django
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings
from django.core.management import call_command
from django.core.servers.basehttp import run
from django.core.wsgi import get_wsgi_application
from django.urls import include, path

port, folder = sys.argv[1:]
# Another key with each start.
key = rsa.generate_private_key(65537, 2048).private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
)
settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{folder}/provider.db"}},
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "oauth2_provider",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    OAUTH2_PROVIDER={
        "OIDC_ENABLED": True,
        "OIDC_RSA_PRIVATE_KEY": key.decode(),
        "SCOPES": {"openid": "OpenID"},
        "PKCE_REQUIRED": True,
    },
    PASSWORD_HASHERS=["django.contrib.auth.hashers.PBKDF2PasswordHasher"],
    ROOT_URLCONF=__name__,
    SECRET_KEY="only for this test",
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}],
)
django.setup()

from django.contrib.auth import authenticate, login  # noqa: E402
from django.http import HttpResponse  # noqa: E402


def log_in(request):
    user = authenticate(request, username=request.POST["username"], password=request.POST["password"])
    if user is None:
        return HttpResponse(status=401)
    login(request, user)
    return HttpResponse(status=204)


urlpatterns = [path("login/", log_in), path("o/", include("oauth2_provider.urls", namespace="oauth2_provider"))]

call_command("migrate", verbosity=0)
from django.contrib.auth.models import User  # noqa: E402
from oauth2_provider.models import get_application_model  # noqa: E402

if not User.objects.exists():
    for name in ["ada", "bob"]:
        User.objects.create_user(name, password="correct horse")
    for client in ["my-app", "other-app"]:
        get_application_model().objects.create(
            client_id=client,
            client_type="public",
            authorization_grant_type="authorization-code",
            redirect_uris="https://app.example/callback",
            skip_authorization=True,
            algorithm="RS256",
        )
print(*User.objects.order_by("username").values_list("password", flat=True), flush=True)
run("127.0.0.1", int(port), get_wsgi_application(), threading=True)
