"""Tests of the pages behind the links in mails, web/account, in Chromium.

`Server` is a stand-in for the server, because tests choose its responses. It serves the files with the fields of
AccountPageRoutes. `MailServer` is the server itself, which sends its mails to a real mail server, aiosmtpd.
"""

import asyncio
import email
import email.policy
import http.server
import json
import os
import re
import socket
import sys
import threading

from aiosmtpd.smtp import SMTP
from axe_playwright_python.async_playwright import Axe

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = os.path.join(HERE, "..", "account")
sys.path.insert(0, os.path.join(HERE, "..", "browser"))

import chromium
from chromium import ChromiumTest, limit

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
MARKUP = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>"
TOKEN = "a-Token_0123456789abcdefghijklmnopqrstuvwxyz"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.note(self)
        prefix = self.server.prefix + "/account/"
        name = self.path[len(prefix):] if self.path.startswith(prefix) else ""
        name = {"reset": "account.html", "confirm": "account.html"}.get(name, name)
        if name not in os.listdir(FILES):
            return self.respond(404, {"detail": "There is nothing here."})
        with open(os.path.join(FILES, name), "rb") as file:
            self.respond(200, file.read(), {
                "Content-Type": TYPES[name.rsplit(".", 1)[1]] + "; charset=utf-8", "Content-Security-Policy": POLICY,
                "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
                "Cross-Origin-Resource-Policy": "same-origin", "X-Content-Type-Options": "nosniff",
            })

    def do_PUT(self):
        self.change("PUT", "/v1/password-resets/")

    def do_POST(self):
        self.change("POST", "/v1/email-proofs/")

    def change(self, method, path):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.note(self, body)
        self.server.gate.wait(20)
        if self.path != self.server.prefix + path + TOKEN:
            return self.respond(404, {"detail": "There is no such token."})
        self.respond(*self.server.response)

    def respond(self, status, body=None, fields={}):
        if isinstance(body, dict):
            body, fields = json.dumps(body).encode(), {"Content-Type": "application/problem+json", **fields}
        body = body or b""
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, prefix=""):
        super().__init__(("127.0.0.1", 0), Handler)
        self.prefix = prefix
        self.url = f"http://127.0.0.1:{self.server_address[1]}{prefix}"
        self.requests = []
        # The response to a request with the right token.
        self.response = (204,)
        # Closed while a test holds requests up.
        self.gate = threading.Event()
        self.gate.set()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def note(self, handler, body=b""):
        self.requests.append((handler.command, handler.path, handler.headers, body))

    @property
    def changes(self):
        """The method, path and body of each request that is not GET."""
        return [(method, path, json.loads(body) if body else None) for method, path, _, body in self.requests if method != "GET"]

    def end(self):
        self.gate.set()
        self.shutdown()
        self.server_close()

    def remove(self):
        if self.socket.fileno() >= 0:
            self.end()


class MailServer(chromium.Server):
    """The server in LOCKSTEP_BINARY, with a mail server that keeps its mails."""

    def __init__(self):
        self.mails = []
        self.arrived = threading.Condition()
        self.loop = asyncio.new_event_loop()
        # The tests run in another loop.
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        relay = asyncio.run_coroutine_threadsafe(
            self.loop.create_server(lambda: SMTP(self, loop=self.loop, enable_SMTPUTF8=True), "127.0.0.1", 0), self.loop
        ).result(20)
        # The links in the mails have the port.
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.public_url = f"http://127.0.0.1:{free.getsockname()[1]}"
        super().__init__(
            "--smtp", f"smtp://127.0.0.1:{relay.sockets[0].getsockname()[1]}", "--mail-from", "Notes <notes@example.com>",
            "--public-url", self.public_url,
        )

    def start(self):
        self.url = self.public_url
        super().start()

    async def handle_DATA(self, server, session, envelope):
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        with self.arrived:
            self.mails.append((envelope.rcpt_tos[0], message))
            self.arrived.notify_all()
        return "250 OK"

    def mail(self, count):
        """Waits until this many mails have arrived. Returns the recipient and the message of the last one."""
        with self.arrived:
            if not self.arrived.wait_for(lambda: len(self.mails) >= count, 20):
                raise AssertionError(f"{len(self.mails)} of {count} mails arrived")
            return self.mails[count - 1]

    def link(self, count):
        """The link in the text of a mail."""
        return re.search(r"http://\S+", self.mail(count)[1].get_body(("plain",)).get_content())[0]

    def remove(self):
        super().remove()
        self.loop.call_soon_threadsafe(self.loop.stop)


class AccountTest(ChromiumTest):
    """A test fails if a page logs a message, throws an error, or breaks its content security policy."""

    requests_fail = True

    def make_server(self):
        return Server()

    async def page(self, path="reset", fragment=f"#token={TOKEN}", **options):
        context = await self.new_context(**{"viewport": {"width": 1024, "height": 700}, "locale": "en-GB", **options})
        await context.add_init_script(
            "addEventListener('securitypolicyviolation', event => console.error(`CSP: ${event.violatedDirective} ${event.blockedURI}`))"
        )
        page = await context.new_page()
        await page.goto(f"{self.server.url}/account/{path}{fragment}")
        return page

    async def check(self, page):
        """Runs axe, and looks for content that is wider than the window."""
        results = await Axe().run(page)
        self.assertEqual(results.violations_count, 0, f"{page.url}\n{results.generate_report()}")
        width = page.viewport_size["width"]
        self.assertLessEqual(await page.evaluate("document.documentElement.scrollWidth"), width, page.url)
