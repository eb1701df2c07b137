"""The command line: output, errors and exit codes of every command."""

import pathlib
import re
import socket
import subprocess
import tempfile

from normalizing import Normalizer
from recording import Recorder
from serving import Server, environment
from users import sign_up

COMMANDS = ("serve", "backup", "restore", "check", "user", "user list", "user add", "user disable", "user enable",
            "user reset-password", "user export", "user erase", "collections", "collections apply",
            "collections list", "collections delete", "tail", "health", "openapi", "completions")


class Commands:
    """Runs commands in a folder and records their output."""

    def __init__(self, binary, normalizer):
        self.binary, self.normalizer = binary, normalizer
        self.entries, self.count = [], 0
        self.temporary = tempfile.TemporaryDirectory(prefix="same-responses-")
        self.folder = pathlib.Path(self.temporary.name)
        normalizer.literals += [(str(self.folder), "<folder>"), (binary, "lockstep")]

    def run(self, *arguments, given="", **variables):
        """Runs one command and records it; returns what it printed."""
        self.count += 1
        try:
            done = subprocess.run([self.binary, *arguments], cwd=self.folder, env=environment(**variables), input=given.encode(),
                                  capture_output=True, timeout=10)
            output, errors, code = done.stdout.decode(errors="backslashreplace"), done.stderr.decode(errors="backslashreplace"), done.returncode
        except subprocess.TimeoutExpired:
            output, errors, code = "", "", "none: it did not exit within 10 s"
        settings = " ".join(f"{name}={value}" for name, value in variables.items())
        lines = [self.normalizer.text(f"=== command {self.count}: {settings} lockstep {' '.join(arguments)}")]
        for mark, text in (("stdout", output), ("stderr", errors)):
            lines += [f"{mark}: {line}" for line in self.normalized(text).split("\n")] if text else []
        self.entries.append(lines + [f"exit code {code}"])
        return output

    def normalized(self, text):
        text = self.normalizer.text(text)
        text = re.sub(r"\b\d{4}-\d\d-\d\d \d\d:\d\d\b", "<minute>", text)
        # Sizes of files and how long something took.
        text = re.sub(r"\b\d+(\.\d+)? ?(bytes|KiB|MiB|ms|µs)\b", r"<amount> \2", text)
        return re.sub(r"127\.0\.0\.1:\d{5}\b", "<server>", text)


def command_line(commands):
    run = commands.run
    helps(run)
    errors(run, commands)
    run("user", "list")
    run("check")
    run("tail", "--user", "ada@example.com", "--once")
    fill(commands)
    users(run)
    stores(run, commands.folder)
    served(commands)


def helps(run):
    run()
    for words in ("--help", "-h", "help", "--version", "-v", "version", "--help serve"):
        run(*words.split())
    for command in COMMANDS:
        run(*command.split(), "--help")
        run("help", *command.split())
        run("--help", *command.split())
    for shell in ("bash", "zsh", "fish", "tcsh", ""):
        run("completions", *([shell] if shell else []))
    run("completions", "bash", "zsh")
    run("openapi")
    run("openapi", "--password-min", "12")
    run("openapi", "more")


def errors(run, commands):
    for command in COMMANDS:
        run(*command.split(), "--nonsense")
        run(*command.split(), "--data")
        run(*command.split(), "one", "two", "three")
    run("explode")
    run("user", "explode")
    run("serve", "--nonsens", "1")
    for option, value in (
        ("--port", "x"), ("--port", "70000"), ("--port", "-1"), ("--port", ""), ("--threads", "0"), ("--threads", "x"), ("--host", ""),
        ("--host", "256.1.1.1"), ("--cors-origin", "nonsense"), ("--cors-origin", "https://a.example/path"), ("--trusted-proxy", "x"),
        ("--profile-upstream", "ftp://x"), ("--registration", "perhaps"), ("--token-days", "0"), ("--password-min", "0"),
        ("--max-favorites", "-1"), ("--max-body", "1XB"), ("--max-wait", "x"), ("--rate-limit", "x"), ("--rate-limit", "1/0s"),
        ("--head-timeout", "5x"), ("--max-history-bytes", "1"), ("--max-body-memory", "1KiB"), ("--log-format", "xml"), ("--log-level", "loud"),
        ("--backup-every", "1s"), ("--backup-keep", "0"), ("--idle-timeout", "-1s"), ("--access-log", "x"), ("--max-suite-bytes", "99999999999GiB"),
    ):
        # If the server accepts one of these, it must not use a fixed port.
        port = [] if option == "--port" else ["--port", "0"]
        run("serve", *port, option, value)
        run("serve", *port, f"{option}={value}")
    run("serve", "--port", "0", "--port", "0", "--data", "")
    run("serve", LOCKSTEP_PORT="x")
    run("serve", LOCKSTEP_LOG_LEVEL="loud")
    run("serve", "--port", "0", "--data", "missing/folder/lockstep.db")
    run("serve", "--port", "0", "--data", "/dev/null")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        commands.normalizer.literals.append((f" {port}", " <port>"))
        run("serve", "--port", port, "--data", "other.db")


def fill(commands):
    """Makes the store, with a user who has data in every collection."""
    server = Server(commands.binary, folder=commands.folder)
    try:
        recorder = Recorder("filling", server.address, Normalizer(False))
        sign_up(recorder, "kept", device="desk")
        recorder.put("/v1/favorites/a", {"title": "A", "data": [1, {"b": None}]})
        recorder.patch("/v1/defaults/standard", {"theme": "dark", "n": 1})
        recorder.patch("/v1/profile", {"companyName": "Example", "position": "Engineer"})
        recorder.put("/v1/favorites/b", {"title": "B \u001b[31m", "index": 0})
        recorder.delete("/v1/favorites/a")
    finally:
        server.stop()


def users(run):
    run("user", "list")
    run("check")
    user = "kept@example.com"
    run("user", "export", user)
    for more in ((), ("-n", "2"), ("--json",), ("--since", "1h")):
        run("tail", "--user", user, "--once", *more)
    run("user", "add", "ada@example.com", given="correct horse battery\n")
    identifier = run("user", "add", "eve@example.com", given="correct horse battery").strip()
    run("user", "add", "ADA@example.com", given="correct horse battery\n")
    run("user", "add", "nonsense", given="correct horse battery\n")
    run("user", "add", "short@example.com", given="short\n")
    run("user", "add", "short@example.com", given="")
    run("user", "add", "short@example.com", "--password-min", "3", given="short\n")
    run("user", "add")
    run("user", "list")
    run("user", "list", "--json")
    for user in ("ada@example.com", identifier, "nobody@example.com", "nonsense"):
        run("user", "disable", user)
        run("user", "disable", user)
        run("user", "list")
        run("user", "enable", user)
        run("user", "enable", user)
        run("user", "reset-password", user, given="another good password\n")
        run("user", "reset-password", user, given="x\n")
        run("user", "export", user)
        run("tail", "--user", user, "--once")
        run("tail", "--user", user, "--once", "--json")
    run("user", "export", "ada@example.com", "--to", "export.json")
    run("user", "export", "ada@example.com", "--to", "export.json")
    run("user", "erase", "eve@example.com")
    run("user", "erase", "eve@example.com", given="y\n")
    run("user", "erase", identifier, "--yes")
    run("user", "erase", identifier, "--yes")
    run("user", "list", "--json")
    run("tail")
    run("tail", "--user", "ada@example.com", "--once", "-n", "0")
    run("tail", "--user", "ada@example.com", "--once", "-n", "x")
    for since in ("30m", "nonsense", "2026-01-01T00:00:00.000Z", "2026-13-01T00:00:00Z"):
        run("tail", "--user", "ada@example.com", "--once", "--since", since)


def stores(run, folder):
    run("check")
    run("check", "--max-favorites", "0")
    run("backup")
    run("backup", "--to", "copy.db")
    run("backup", "--to", "copy.db")
    run("backup", "--to", "copy.db", "--force", "--rate", "0")
    run("backup", "--to", "missing/copy.db")
    run("backup", "--to", "lockstep.db", "--force")
    run("backup", "--to", "/dev/null", "--force")
    run("backup", "--data", "missing.db", "--to", "copy2.db")
    run("check", "--data", "copy.db")
    run("restore")
    run("restore", "--from", "copy.db")
    run("restore", "--from", "copy.db", "--force")
    run("restore", "--from", "copy.db", "--data", "restored.db", "--end-sessions")
    run("restore", "--from", "missing.db", "--data", "more.db")
    run("user", "list", "--data", "restored.db")
    (folder / "text.db").write_text("this is no store\n" * 100)
    (folder / "empty.db").write_text("")
    copy = folder / "copy.db"
    (folder / "broken.db").write_bytes(copy.read_bytes()[:20000] if copy.exists() else b"")
    for name in ("text.db", "empty.db", "broken.db", "missing.db"):
        run("check", "--data", name)
        run("user", "list", "--data", name)
        run("backup", "--data", name, "--to", f"of-{name}")
        run("restore", "--from", name, "--data", f"from-{name}")
        run("tail", "--data", name, "--user", "ada@example.com", "--once")
    run("serve", "--port", "0", "--data", "text.db")
    run("serve", "--port", "0", "--data", "broken.db")
    run("user", "list", LOCKSTEP_DATA="restored.db")


def served(commands):
    """Commands beside a server."""
    run = commands.run
    run("health", "--port", "1")
    run("health", "--url", "nonsense")
    run("health", "--url", "https://127.0.0.1:1")
    run("health", "--timeout", "0s")
    server = Server(commands.binary, "--registration", "closed", folder=commands.folder)
    try:
        port = str(server.address[1])
        commands.normalizer.literals.append((port, "<port>"))
        run("health", "--port", port)
        run("health", "--url", f"http://127.0.0.1:{port}")
        run("health", LOCKSTEP_PORT=port)
        run("user", "add", "beside@example.com", given="correct horse battery\n")
        run("user", "disable", "beside@example.com")
        run("user", "enable", "beside@example.com")
        run("user", "erase", "beside@example.com", "--yes")
        run("check")
        run("backup", "--to", "beside.db")
        run("restore", "--from", "beside.db", "--force")
        run("serve", "--port", "0")
    finally:
        server.stop()
    run("health", "--port", port)
