"""Sends mails to a real mail server, aiosmtpd, reads them with Python's email package, and verifies signatures of
webhooks with the library of Standard Webhooks and with the code in docs/webhooks.md. The first argument is the
program outgoing-sender."""

import asyncio
import contextlib
import email
import email.policy
import json
import logging
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings

from aiosmtpd.smtp import SMTP, AuthResult
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

# Failed handshakes, which are part of the tests, are not worth a traceback.
logging.getLogger("mail.log").setLevel(logging.CRITICAL)
warnings.simplefilter("ignore", DeprecationWarning)

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
SENDER_PROGRAM = os.path.abspath(sys.argv.pop(1))
SENDER = "Notes «and» lists <notes@example.com>"
LANGUAGES = ["en", "ja", "de", "fr", "es"]


class Inbox:
    """Keeps the mails that the server accepts."""

    def __init__(self):
        self.mails = []

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("unknown@"):
            return "550 5.1.1 no such mailbox"
        if address.startswith("later@"):
            return "451 4.7.1 greylisted"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        session.options = list(envelope.mail_options)
        self.mails.append((envelope, session))
        return "250 OK"


@contextlib.contextmanager
def mail_server(ssl_context=None, **options):
    """A server on a free port of loopback. Gives the port and the inbox."""
    inbox = Inbox()
    loop = asyncio.new_event_loop()
    options = {"hostname": "relay.test", "enable_SMTPUTF8": True, **options}
    server = loop.run_until_complete(
        loop.create_server(lambda: SMTP(inbox, loop=loop, **options), "127.0.0.1", 0, ssl=ssl_context)
    )
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1], inbox
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        loop.close()


def send(relay, recipient="ada@example.org", kind="password-reset", language="en", certificates=None):
    """Returns the output of the sender: `sent`, or the kind of the error and its detail."""
    words = [SENDER_PROGRAM, "mail", relay, SENDER, kind, language, recipient] + ([certificates] if certificates else [])
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


class MailTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.certificate = os.path.join(cls.folder, "certificate.pem")
        key = os.path.join(cls.folder, "key.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cls.certificate],
            check=True, capture_output=True,
        )
        cls.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        cls.context.load_cert_chain(cls.certificate, key)

    def test_every_mail_in_every_language_is_read_as_it_was_meant(self):
        with mail_server() as (port, inbox):
            for kind in ["password-reset", "email-proof", "email-changed"]:
                for language in LANGUAGES:
                    with self.subTest(kind=kind, language=language):
                        self.assertEqual(send(f"smtp://127.0.0.1:{port}", kind=kind, language=language), "sent")
                        self.check_mail(inbox.mails.pop()[0], kind, language)

    def check_mail(self, envelope, kind, language):
        self.assertEqual((envelope.mail_from, envelope.rcpt_tos), ("notes@example.com", ["ada@example.org"]))
        raw = envelope.original_content
        self.assertTrue(all(len(line) <= 998 for line in raw.split(b"\r\n")))
        self.assertNotRegex(raw, rb"[^\r]\n|\r[^\n]")
        self.assertTrue(raw.isascii())
        mail = email.message_from_bytes(raw, policy=email.policy.default)
        for part in mail.walk():
            self.assertEqual(part.defects, [])
        for name in mail:
            self.assertEqual(mail[name].defects, (), name)
        (sender,), (recipient,) = mail["From"].addresses, mail["To"].addresses
        self.assertEqual((sender.display_name, sender.addr_spec), ("Notes «and» lists", "notes@example.com"))
        self.assertEqual(recipient.addr_spec, "ada@example.org")
        self.assertIn("notes.example.com", mail["Subject"])
        self.assertIsNotNone(mail["Date"].datetime.tzinfo)
        self.assertRegex(mail["Message-ID"], r"^<[a-z0-9]+@example\.com>$")
        self.assertEqual(mail["Auto-Submitted"], "auto-generated")
        self.assertEqual(mail["Content-Language"], language)
        self.assertEqual(mail.get_content_type(), "multipart/alternative")
        text, html = (part.get_content() for part in mail.iter_parts())
        self.assertEqual([part.get_content_type() for part in mail.iter_parts()], ["text/plain", "text/html"])
        path = "reset" if kind == "password-reset" else "confirm"
        link = f"https://notes.example.com/account/{path}#token=a-Token_0123456789abcdefghijklmnopqrstuvwxyz"
        count = 0 if kind == "email-changed" else 1
        self.assertEqual(text.split().count(link), count)
        self.assertEqual(html.count(f'<a href="{link}">{link}</a>'), count)
        # Both parts say the same.
        plain = re.sub(r"<[^>]*>", "", html.split("<body", 1)[1].split(">", 1)[1])
        self.assertEqual(plain.split(), text.split())

    def test_STARTTLS_is_used_and_the_certificate_is_checked(self):
        with mail_server(tls_context=self.context, require_starttls=True) as (port, inbox):
            relay = f"smtp://127.0.0.1:{port}?tls=required"
            self.assertTrue(send(relay).startswith("encryption "), send(relay))
            self.assertEqual(send(relay, certificates=self.certificate), "sent")
            self.assertIsNotNone(inbox.mails[0][1].ssl)
            self.assertEqual(len(inbox.mails), 1)

    def test_a_connection_can_be_encrypted_from_the_beginning(self):
        with mail_server(self.context) as (port, inbox):
            self.assertTrue(send(f"smtps://127.0.0.1:{port}").startswith("encryption "))
            self.assertEqual(send(f"smtps://127.0.0.1:{port}", certificates=self.certificate), "sent")
            self.assertEqual(len(inbox.mails), 1)

    def test_without_STARTTLS_nothing_is_sent_if_it_is_required(self):
        with mail_server() as (port, inbox):
            self.assertTrue(send(f"smtp://127.0.0.1:{port}?tls=required").startswith("encryption "))
            self.assertEqual(inbox.mails, [])

    def test_the_password_of_the_URL_is_sent_and_a_wrong_one_is_rejected(self):
        def authenticate(server, session, envelope, mechanism, data):
            is_right = (data.login, data.password) == (b"ada@example.com", "p:/ü".encode())
            return AuthResult(success=is_right, handled=False)

        with mail_server(tls_context=self.context, authenticator=authenticate, auth_required=True) as (port, inbox):
            address = f"127.0.0.1:{port}?tls=required"
            right = send(f"smtp://ada%40example.com:p%3A%2F%C3%BC@{address}", certificates=self.certificate)
            self.assertEqual(right, "sent")
            for login in ["ada%40example.com:secret@", ""]:
                said = send(f"smtp://{login}{address}", certificates=self.certificate)
                self.assertTrue(said.startswith("login "), said)
                self.assertNotIn("secret", said)
            self.assertEqual(len(inbox.mails), 1)

    def test_a_refused_recipient_is_refused_or_temporary(self):
        with mail_server() as (port, inbox):
            said = send(f"smtp://127.0.0.1:{port}", "unknown@example.org")
            self.assertTrue(said.startswith("refused ") and "550 5.1.1 no such mailbox" in said, said)
            said = send(f"smtp://127.0.0.1:{port}", "later@example.org")
            self.assertTrue(said.startswith("temporary ") and "451 4.7.1 greylisted" in said, said)
            self.assertEqual(inbox.mails, [])

    def test_an_address_beyond_ASCII_is_sent_with_SMTPUTF8(self):
        with mail_server() as (port, inbox):
            self.assertEqual(send(f"smtp://127.0.0.1:{port}", "jürgen@example.org"), "sent")
            envelope, session = inbox.mails[0]
            self.assertEqual(envelope.rcpt_tos, ["jürgen@example.org"])
            self.assertIn("SMTPUTF8", session.options)
            mail = email.message_from_string(envelope.original_content.decode(), policy=email.policy.SMTPUTF8)
            self.assertEqual(mail["To"].addresses[0].addr_spec, "jürgen@example.org")

    def test_a_relay_without_SMTPUTF8_refuses_an_address_beyond_ASCII(self):
        with mail_server(enable_SMTPUTF8=False) as (port, inbox):
            said = send(f"smtp://127.0.0.1:{port}", "jürgen@example.org")
            self.assertTrue(said.startswith("refused "), said)
            self.assertEqual(inbox.mails, [])


class SignatureTests(unittest.TestCase):
    OLD, NEW = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIj"
    BODY = '{"type":"user.created","timestamp":"2026-11-27T02:00:00.000Z","data":{"user":"ü"}}'

    def fields(self, *secrets):
        words = [SENDER_PROGRAM, "sign", "msg_1", *secrets]
        output = subprocess.run(words, input=self.BODY, check=True, capture_output=True, text=True, timeout=60).stdout
        return dict(line.split(": ", 1) for line in output.splitlines())

    def test_the_library_of_Standard_Webhooks_accepts_a_signature(self):
        data = Webhook(self.OLD).verify(self.BODY, self.fields(self.OLD))
        self.assertEqual(data["data"], {"user": "ü"})

    def test_while_a_secret_is_replaced_both_are_accepted(self):
        fields = self.fields(self.NEW, self.OLD)
        for secret in [self.OLD, self.NEW]:
            Webhook(secret).verify(self.BODY, fields)

    def test_another_secret_or_another_body_is_not_accepted(self):
        fields = self.fields(self.OLD)
        for secret, body in [(self.NEW, self.BODY), (self.OLD, self.BODY + " ")]:
            with self.assertRaises(WebhookVerificationError):
                Webhook(secret).verify(body, fields)


class GuideTests(unittest.TestCase):
    """Runs the code in docs/webhooks.md. Each block has a function `verify`."""

    SECRET, ID, BODY = SignatureTests.OLD, "msg_1", SignatureTests.BODY

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        with open(os.path.join(ROOT, "docs", "webhooks.md")) as file:
            cls.blocks = dict(re.findall(r"^```(python|js|swift)\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL))

    def cases(self):
        """Secret, fields, body, the age of the request in seconds, and whether the request is the server's."""
        program = [SENDER_PROGRAM, "sign", self.ID, SignatureTests.NEW, self.SECRET]
        output = subprocess.run(program, input=self.BODY, check=True, capture_output=True, text=True, timeout=60).stdout
        fields = dict(line.split(": ", 1) for line in output.splitlines())
        return [
            (self.SECRET, fields, self.BODY, 0, True), (SignatureTests.NEW, fields, self.BODY, 0, True),
            (self.SECRET, fields, self.BODY, 300, True), (self.SECRET, fields, self.BODY, 301, False),
            (self.SECRET, fields, self.BODY, -301, False), (self.SECRET, fields, self.BODY + " ", 0, False),
            ("whsec_" + "A" * 32, fields, self.BODY, 0, False),
            (self.SECRET, {**fields, "webhook-id": "msg_2"}, self.BODY, 0, False),
            (self.SECRET, {**fields, "webhook-signature": "v1,"}, self.BODY, 0, False),
            (self.SECRET, {**fields, "webhook-signature": "v1a,x v2 "}, self.BODY, 0, False),
        ]

    def path(self, name, text):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)
        return file.name

    def check(self, verify):
        for secret, fields, body, shift, expected in self.cases():
            with self.subTest(secret=secret, fields=fields, body=body, shift=shift):
                self.assertEqual(verify(secret, fields, body, int(fields["webhook-timestamp"]) + shift), expected)

    def run_program(self, words):
        """A `verify` that passes its arguments to a program as JSON, which prints `true` or `false`."""
        def verify(*arguments):
            output = subprocess.run(words, input=json.dumps(arguments), check=True, capture_output=True, text=True, timeout=60)
            return json.loads(output.stdout)
        return verify

    def test_the_code_in_Python_accepts_what_the_server_signs_and_nothing_else(self):
        names = {}
        exec(self.blocks["python"], names)
        self.check(lambda secret, fields, body, now: names["verify"](secret, fields, body.encode(), now))

    @unittest.skipUnless(shutil.which("node"), "node is not installed")
    def test_the_code_in_Node_accepts_what_the_server_signs_and_nothing_else(self):
        path = self.path("verify.mjs", self.blocks["js"] + """
            let input = ''
            for await (const piece of process.stdin) input += piece
            const [secret, fields, body, now] = JSON.parse(input)
            console.log(verify(secret, fields, Buffer.from(body), now))
        """)
        self.check(self.run_program(["node", path]))

    @unittest.skipUnless(shutil.which("swiftc"), "swiftc is not installed")
    def test_the_code_in_Swift_accepts_what_the_server_signs_and_nothing_else(self):
        path = self.path("main.swift", self.blocks["swift"].replace("import Crypto\n", "") + """
            let input = try JSONSerialization.jsonObject(with: FileHandle.standardInput.readDataToEndOfFile()) as! [Any]
            let now = Date(timeIntervalSince1970: (input[3] as! NSNumber).doubleValue)
            print(verify(input[0] as! String, input[1] as! [String: String], Data((input[2] as! String).utf8), now: now))
        """)
        program = os.path.join(self.folder, "verify")
        stub, headers = os.path.join(HERE, "Crypto.swift"), os.path.join(ROOT, "Sources", "CLockstepSodium")
        subprocess.run(["swiftc", "-o", program, "-I", headers, stub, path], check=True, capture_output=True, timeout=300)
        self.check(self.run_program([program]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
