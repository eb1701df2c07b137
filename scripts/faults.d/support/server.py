"""A server process: started with a fault's options, observed through /proc, ended by its process
id."""

import os
import re
import resource
import signal
import subprocess
import time

from support.client import Client
from support.fault import Broken, expect

# The prefix of a command that runs a program without root's capabilities.
POWERLESS = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"] if os.geteuid() == 0 else []


class Server:
    """One process. `variables` are added to its environment. `descriptors` limits its open files.
    `data` is the store's file, or a connection string for PostgreSQL.
    """

    def __init__(
        self, fault, data, *options, name="server", variables=None, descriptors=None, powerless=False, threads=1
    ):
        self.log = fault.path(f"{name}-{len(fault.servers)}.log")
        self.address_file = self.log + ".out"
        self.data = data
        place = ["--store" if "dbname=" in data else "--data", data]
        arguments = [fault.server_path, "serve", "--port", "0", "--threads", str(threads), *place, *options]

        def limit():
            if descriptors:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

        with open(self.log, "wb") as log, open(self.address_file, "wb") as out:
            self.process = subprocess.Popen(
                (POWERLESS if powerless else []) + arguments,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=log,
                env={"PATH": os.environ["PATH"], **(variables or {})},
                preexec_fn=limit,
            )
        fault.servers.append(self)

    @property
    def id(self):
        return self.process.pid

    @property
    def has_ended(self):
        return self.process.poll() is not None

    @property
    def listens(self):
        return os.path.getsize(self.address_file) > 0

    def has_started(self):
        """Whether the server listens, or has ended before."""
        return self.listens or self.has_ended

    def said(self):
        with open(self.log, errors="replace") as log:
            return log.read()

    def listening(self, seconds=120):
        """Waits until the server listens, and returns it. Raises Broken if it exits instead."""
        end = time.monotonic() + seconds
        while True:
            with open(self.address_file) as out:
                match = re.search(r"http://127\.0\.0\.1:(\d+)\n", out.read())
            if match:
                self.port = int(match.group(1))
                return self
            expect(not self.has_ended, lambda: f"the server exits with {self.process.poll()}: {self.said()}")
            expect(time.monotonic() < end, lambda: f"the server does not listen after {seconds} s")
            time.sleep(0.01)

    def client(self, timeout=120):
        return Client(self.port, timeout)

    def refuses(self, codes, words, seconds=120):
        """Expects the server to exit with one of these codes and a message that matches `words`.
        Returns the message."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Broken("the server serves a store that it should refuse") from None
        text = self.said()
        expect(code in codes, lambda: f"the server exits with {code}, expected {codes}: {text}")
        expect(re.search(words, text), lambda: f"the message does not match “{words}”: {text}")
        sentence = next(line for line in text.splitlines() if line.startswith("lockstep serve: "))
        return sentence

    def expect_alive(self):
        expect(not self.has_ended, lambda: f"the server has exited with {self.process.poll()}: {self.said()[-2000:]}")

    def stop(self, seconds=120):
        """Drains the server, and expects it to exit with 0."""
        self.expect_alive()
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Broken(f"the server does not exit within {seconds} s of SIGTERM") from None
        expect(code == 0, lambda: f"the server exits with {code} after SIGTERM: {self.said()[-2000:]}")

    def kill(self):
        if not self.has_ended:
            self.process.kill()
            self.process.wait()

    def resident_kib(self, kind="VmRSS"):
        """Resident memory. RssAnon is the anonymous part, RssFile the mapped files, such as the
        store."""
        with open(f"/proc/{self.id}/status") as status:
            return int(re.search(rf"{kind}:\s+(\d+)", status.read()).group(1))

    def metric(self, name):
        text = self.client().get("/metrics").text
        return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.M).group(1))


def check(fault, data):
    """Expects `lockstep check` to find no damage."""
    ended = subprocess.run([fault.server_path, "check", "--data", data], capture_output=True, text=True, check=False)
    expect(
        ended.returncode == 0 and "No damage." in ended.stdout,
        lambda: f"lockstep check exits with {ended.returncode}: {ended.stdout}{ended.stderr}",
    )
