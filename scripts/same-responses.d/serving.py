"""Starts a server in its own folder, and stops it."""

import os
import pathlib
import re
import select
import subprocess
import tempfile
import time

from recording import NoServer

ADMINISTRATOR = "administrators-token-of-the-comparison"


def environment(**more):
    """Returns this process's variables without the server's own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LOCKSTEP_")}
    return {**kept, "LC_ALL": "C.UTF-8", "TZ": "UTC", **more}


class Server:
    """A server on a free port of loopback."""

    def __init__(self, binary, *options, administrator=True, folder=None):
        self.temporary = tempfile.TemporaryDirectory(prefix="same-responses-") if folder is None else None
        self.folder = pathlib.Path(folder or self.temporary.name)
        variables = environment(LOCKSTEP_ADMIN_TOKEN=ADMINISTRATOR) if administrator else environment()
        self.errors = open(self.folder / "stderr", "wb")
        self.process = subprocess.Popen(
            [binary, "serve", "--host", "127.0.0.1", "--port", "0", "--threads", "2", "--data", "lockstep.db", *options],
            cwd=self.folder, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors,
        )
        self.first_line = self._first_line()
        match = re.search(r"http://127\.0\.0\.1:(\d+)", self.first_line)
        if not match:
            self.stop()
            raise NoServer(f"{binary} does not start: {self.first_line!r} {self.log}")
        self.address = ("127.0.0.1", int(match[1]))

    @property
    def log(self):
        path = self.folder / "stderr"
        return path.read_text(errors="replace") if path.exists() else ""

    def _first_line(self):
        end, line = time.monotonic() + 15, b""
        while b"\n" not in line and time.monotonic() < end:
            if select.select([self.process.stdout], [], [], 0.1)[0]:
                data = os.read(self.process.stdout.fileno(), 4096)
                if not data:
                    break
                line += data
        return line.decode(errors="replace")

    def terminate(self):
        self.process.terminate()

    def stop(self):
        """Drains the server. Returns its exit code."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(12)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()
        self.errors.close()
        return self.process.returncode

    def clean(self):
        if self.temporary:
            self.temporary.cleanup()
