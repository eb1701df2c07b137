"""Sends two servers the same requests and compares their responses; see scripts/same-responses
--help."""

import argparse
import difflib
import pathlib
import subprocess
import sys
import tempfile
import time

import command_line
import following
import limits
import protocol
import routes
import screens
import states
import users
from normalizing import Normalizer
from recording import NoServer, Recorder
from serving import Server, environment


def say(text):
    print(f"==> {text}", file=sys.stderr, flush=True)


PARTS = ["service", "accounts", "states", "following", "screens", "small", "closed", "rates", "upstream", "drained", "command"]


class Run:
    """Everything that one binary responds."""

    def __init__(self, binary, arguments):
        self.binary, self.arguments = binary, arguments
        self.entries, self.requests, self.kinds = {}, 0, set()

    def all(self):
        began = time.monotonic()
        self.part("service", protocol.service, routes.sweep)
        self.part("accounts", users.accounts, users.too_many_passwords)
        self.part("states", states.favorites, states.defaults, states.profile, states.actions, states.registered)
        self.part("following", following.changes, following.past, protocol.protocol)
        self.part("screens", screens.login, screens.photos)
        self.part("small", limits.quotas, options=limits.SMALL)
        self.part("closed", limits.origins, known=True, options=(
            "--registration", "closed", "--cors-origin", "https://app.example,https://third.example", "--access-log",
            "--rate-limit", "110/3600s"))
        self.part("rates", limits.rates, administrator=False, options=("--cors-origin", "*", "--rate-limit-address", "30/3600s"))
        service = screens.Upstream()
        try:
            self.part("upstream", lambda recorder: screens.upstream(recorder, service), options=("--profile-upstream", service.url))
        finally:
            service.close()
        self.part("drained", limits.draining, has_server=True)
        if self.arguments.command_line:
            self.commands()
        say(f"{self.binary}: {self.requests} requests in {time.monotonic() - began:.1f} s")
        return self

    def part(self, name, *scenes, options=(), administrator=True, known=False, has_server=False):
        """Starts a server and plays these scenes."""
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="same-responses-") as folder:
            if known:
                # This server refuses sign-ups, so make an account first. The first start makes the
                # store.
                Server(self.binary, folder=folder).stop()
                subprocess.run([self.binary, "user", "add", "known@example.com"], cwd=folder, env=environment(), check=False,
                               input=users.PASSWORD.encode(), stdout=subprocess.DEVNULL)
            server = Server(self.binary, *options, administrator=administrator, folder=folder)
            recorder = Recorder(name, server.address, Normalizer(self.arguments.ignore_prose))
            try:
                for scene in scenes:
                    scene(recorder, server) if has_server else scene(recorder)
                if not has_server:
                    recorder.get("/metrics", token=None)
            except NoServer as error:
                recorder.write("the rest of this part", [], "/", str(error))
                say(f"{self.binary}: {error}")
            finally:
                server.stop()
        self.entries.update({(name, number): lines for number, lines in enumerate(recorder.entries, 1)})
        self.requests += recorder.count
        self.kinds |= recorder.kinds
        if self.arguments.coverage:
            say(f"{name}: {recorder.count} requests in {time.monotonic() - began:.1f} s")

    def commands(self):
        commands = command_line.Commands(self.binary, Normalizer(False))
        command_line.command_line(commands)
        self.entries.update({("command", number): lines for number, lines in enumerate(commands.entries, 1)})


def difference(before, after):
    """A unified diff, request by request: both were sent the same ones, so the n-th of a part
    belongs to the n-th."""
    for key in sorted(before.entries.keys() | after.entries.keys(), key=lambda key: (PARTS.index(key[0]), key[1])):
        lines = before.entries.get(key, []), after.entries.get(key, [])
        if lines[0] != lines[1]:
            title = next(iter(lines[0] or lines[1])).strip("= ")
            yield from difflib.unified_diff(*lines, f"{before.binary}: {title}", f"{after.binary}: {title}", n=5, lineterm="")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", nargs=2)
    parser.add_argument("--command-line", action="store_true")
    parser.add_argument("--ignore-prose", action="store_true")
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("--keep")
    arguments = parser.parse_args()
    try:
        runs = [Run(binary, arguments).all() for binary in arguments.binaries]
    except NoServer as error:
        print(f"scripts/same-responses: {error}", file=sys.stderr)
        return 69
    if arguments.keep:
        folder = pathlib.Path(arguments.keep)
        folder.mkdir(parents=True, exist_ok=True)
        for name, run in zip("ab", runs):
            (folder / name).write_text("\n\n".join("\n".join(lines) for lines in run.entries.values()) + "\n")
    if arguments.coverage:
        for method, route, status in sorted(runs[0].kinds):
            print(f"{method} {route} {status}")
    before, after = runs
    if before.entries == after.entries:
        commands = sum(part == "command" for part, _ in before.entries)
        print(f"No difference in {before.requests} requests" + (f" and {commands} commands" if commands else ""))
        return 0
    for line in difference(before, after):
        print(line)
    return 1


sys.exit(main())
