"""Checks the tokens of other issuers with an OpenID provider and a JOSE library that others wrote."""

import base64
import hashlib
import http.server
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OKPKey, RSAKey

binary = sys.argv[1]
passed = 0


def expect(holds, text):
    global passed
    if not holds:
        sys.exit(f"failed: {text}")
    passed += 1
    print(f"ok - {text}")


def request(method, url, body=None, token=None, form=False):
    """Returns the status and the body of a response."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if body is not None:
        headers["Content-Type"] = "application/x-www-form-urlencoded" if form else "application/json"
        body = (urllib.parse.urlencode(body) if form else json.dumps(body)).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers, method=method), timeout=60) as response:
            return response.status, json.loads(response.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"null")


class Provider:
    """An OpenID provider of its own process; a `with` block ends it."""

    def __init__(self, folder, port):
        here = os.path.dirname(os.path.abspath(__file__))
        command = [sys.executable, os.path.join(here, "provider.py"), str(port), folder]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.hashes = self.process.stdout.readline().split()
        self.url = f"http://127.0.0.1:{port}"
        self.issuer = f"{self.url}/o"
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return
            except OSError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    sys.exit("the provider does not start")
                time.sleep(0.1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def log_in(self, name, client):
        """Logs in by the authorization code flow with PKCE, as a browser and an app do. Returns the ID token."""
        verifier = secrets.token_urlsafe(48)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        code = {
            "client_id": client,
            "redirect_uri": "https://app.example/callback",
            "response_type": "code",
            "scope": "openid",
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(), NoRedirects)
        form = urllib.parse.urlencode({"username": name, "password": "correct horse"}).encode()
        browser.open(f"{self.url}/login/", form)
        try:
            browser.open(f"{self.issuer}/authorize/?{urllib.parse.urlencode(code)}")
            sys.exit("the provider gives no code")
        except urllib.error.HTTPError as redirect:
            query = urllib.parse.urlparse(redirect.headers["Location"]).query
        form = {
            "grant_type": "authorization_code",
            "code": urllib.parse.parse_qs(query)["code"][0],
            "redirect_uri": code["redirect_uri"],
            "client_id": client,
            "code_verifier": verifier,
        }
        status, answer = request("POST", f"{self.issuer}/token/", form, form=True)
        assert status == 200, answer
        return answer["id_token"]


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Lockstep:
    """A server; a `with` block ends it."""

    def __init__(self, folder, *identities):
        options = [word for identity in identities for word in ("--identity", identity)]
        command = [binary, "serve", "--port", "0", "--data", f"{folder}/lockstep.db", "--log-level", "warning"]
        self.process = subprocess.Popen(command + options, stdout=subprocess.PIPE, text=True)
        found = re.search(r"http://\S+", self.process.stdout.readline())
        if not found:
            sys.exit("the server does not start")
        self.url = found.group(0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)

    def me(self, token):
        return request("GET", f"{self.url}/v1/me", token=token)


class KeyServer:
    """Publishes keys. While `keys` is None, it responds with 500."""

    def __init__(self):
        outer = self
        self.keys = None

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = json.dumps(outer.keys).encode()
                self.send_response(200 if outer.keys else 500)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "max-age=600")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def check_provider(folder):
    port = free_port()
    with Provider(folder, port) as provider:
        identity = f"issuer={provider.issuer},audience=my-app"
        with Lockstep(folder, identity) as server:
            token = provider.log_in("ada", "my-app")
            status, me = server.me(token)
            expect(status == 200 and me["email"] is None, "a token of the code flow makes a user")
            expect(server.me(provider.log_in("ada", "my-app"))[1] == me, "the next login is the same user")
            status, bob = server.me(provider.log_in("bob", "my-app"))
            expect(status == 200 and bob["id"] != me["id"], "another subject is another user")
            expect(server.me(provider.log_in("ada", "other-app"))[0] == 401, "a token for another app is refused")
            status, session = request("POST", f"{server.url}/v1/sessions", {"idToken": token, "device": "phone"})
            expect(status == 201 and session["user"]["id"] == me["id"], "a token is exchanged for a session")
    with Lockstep(folder, identity) as server:
        expect(server.me(token)[0] == 503, "while the provider is down, a server without keys responds with 503")
        expect(server.me(session["token"])[0] == 200, "and tokens of sessions are valid")
        with Provider(folder, port) as provider:
            new = provider.log_in("ada", "my-app")
            deadline = time.monotonic() + 60
            while server.me(new)[0] == 503 and time.monotonic() < deadline:
                time.sleep(0.5)
            status, now = server.me(new)
            expect(status == 200 and now["id"] == me["id"], "when it is back, with a new key, its users go on")
            expect(server.me(token)[0] == 401, "tokens by the old key are refused")


def check_import(folder):
    """Users of Django log in with their old passwords."""
    with Provider(folder, free_port()) as provider:
        file = f"{folder}/users.jsonl"
        with open(file, "w") as lines:
            for name, password in zip(["ada", "bob"], provider.hashes):
                print(json.dumps({"email": f"{name}@example.com", "passwordHash": password}), file=lines)
    with Lockstep(folder) as server:
        subprocess.run([binary, "user", "import", file, "--data", f"{folder}/lockstep.db"], check=True)
        for _ in range(2):
            for name in ["ada", "bob"]:
                login = {"email": f"{name}@example.com", "password": "correct horse"}
                status, _ = request("POST", f"{server.url}/v1/sessions", login)
                expect(status == 201, f"{name} logs in with the password that Django has hashed")
        status, _ = request("POST", f"{server.url}/v1/sessions", login | {"password": "correct mule"})
        expect(status == 401, "and not with another one")


def check_algorithms(folder):
    keys = {
        "RS256": RSAKey.generate_key(2048, {"kid": "rs", "use": "sig", "alg": "RS256"}),
        "PS256": RSAKey.generate_key(3072, {"kid": "ps", "use": "sig", "alg": "PS256"}),
        "ES256": ECKey.generate_key("P-256", {"kid": "es", "use": "sig"}),
        "EdDSA": OKPKey.generate_key("Ed25519", {"kid": "ed", "use": "sig"}),
        "ES384": ECKey.generate_key("P-384", {"kid": "es384", "use": "sig"}),
        "small": RSAKey.generate_key(1024, {"kid": "small"}),
    }
    server = KeyServer()
    server.keys = KeySet(list(keys.values())).as_dict(private=False)
    issuer = "https://login.example"

    def token(key, algorithm, **changes):
        now = int(time.time())
        claims = {"iss": issuer, "aud": ["app", "other"], "sub": "ada", "iat": now, "exp": now + 600} | changes
        header = {"alg": algorithm, "kid": keys[key].kid}
        return jwt.encode(header, claims, keys[key], algorithms=[algorithm])

    with Lockstep(folder, f"issuer={issuer},audience=app,jwks={server.url}/keys") as lockstep:
        users = set()
        for algorithm in ["RS256", "PS256", "ES256", "EdDSA"]:
            status, me = lockstep.me(token(algorithm, algorithm))
            expect(status == 200, f"a token of joserfc by {algorithm} is accepted")
            users.add(me["id"])
        expect(len(users) == 1, "all of them are one user")
        for key, algorithm in [("ES384", "ES384"), ("small", "RS256")]:
            expect(lockstep.me(token(key, algorithm))[0] == 401, f"a token by the key {key} with {algorithm} is refused")
        expired = token("ES256", "ES256", exp=int(time.time()) - 120)
        expect(lockstep.me(expired)[0] == 401, "an expired token is refused")
        server.keys = None
        expect(lockstep.me(token("EdDSA", "EdDSA", jti="2"))[0] == 200, "keys stay in use while the issuer is down")


for check in [check_provider, check_import, check_algorithms]:
    with tempfile.TemporaryDirectory() as folder:
        check(folder)
print(f"{passed} passed, 0 failed")
