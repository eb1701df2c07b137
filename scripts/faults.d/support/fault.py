"""Shared by all faults: arguments, a temporary folder, the line with the result, and the exit
status."""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback


class Broken(Exception):
    """The server broke a guarantee."""


class Skipped(Exception):
    """This machine cannot run the fault."""


def expect(holds, what):
    """Raises Broken if a condition does not hold. `what` is the message, or a function that returns
    it."""
    if not holds:
        raise Broken(what() if callable(what) else what)


def eventually(holds, what, seconds=120):
    """Waits until a condition holds. Raises Broken after the time."""
    end = time.monotonic() + seconds
    while not holds():
        expect(time.monotonic() < end, lambda: f"{what() if callable(what) else what} (waited {seconds} s)")
        time.sleep(0.02)


def within(holds, what, seconds=120):
    """Returns a function that calls `holds`, and raises Broken if it still returns false after the
    time."""
    end = time.monotonic() + seconds

    def asked():
        if holds():
            return True
        expect(time.monotonic() < end, lambda: f"{what} (waited {seconds} s)")
        return False

    return asked


class Fault:
    """One run of a fault."""

    def __init__(self, options, folder):
        self.server_path = options.server
        self.preload = options.preload
        self.is_long = options.long
        self.minutes = options.minutes
        self.seed = options.seed
        self.random = random.Random(options.seed)
        self.folder = folder
        self.servers = []
        self.mounts = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def library(self, name):
        """The path of a library for LD_PRELOAD, which scripts/faults has compiled."""
        return os.path.join(self.preload, name + ".so")

    def end(self):
        for server in self.servers:
            server.kill()
        for place in self.mounts:
            subprocess.run(["umount", "-l", place], check=False, stderr=subprocess.DEVNULL)


def run(body, name, uses_seed=False, before=lambda: None):
    """Runs `body`, which takes a Fault and returns its result as text. The process exits with 0 on
    success, 1 on a failure, and 75 if `before` or `body` raises Skipped."""
    options = argparse.ArgumentParser(prog=name)
    options.add_argument("--server", required=True)
    options.add_argument("--preload", required=True)
    options.add_argument("--long", action="store_true")
    options.add_argument("--minutes", type=float)
    options.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    options = options.parse_args()
    try:
        before()
    except Skipped as error:
        print(f"SKIPPED {name}: {error}", flush=True)
        sys.exit(75)
    folder = tempfile.mkdtemp(prefix="lockstep-fault-")
    # A server may run without root's capabilities.
    os.chmod(folder, 0o755)
    fault = Fault(options, folder)
    start = time.monotonic()
    seed = f", seed {options.seed}" if uses_seed else ""
    code, word, text = 0, "ok", ""
    try:
        text = body(fault)
    except Skipped as error:
        code, word, text = 75, "SKIPPED", str(error)
    except Broken as error:
        code, word, text = 1, "FAILED", str(error)
    except Exception as error:  # pylint: disable=broad-except
        traceback.print_exc()
        code, word, text = 1, "FAILED", f"{type(error).__name__}: {error}"
    finally:
        logs = [server.log for server in fault.servers]
        fault.end()
        if code == 1:
            for log in logs:
                with open(log, errors="replace") as lines:
                    sys.stderr.write(f"--- {os.path.basename(log)}\n{''.join(lines.readlines()[-40:])}")
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{word:7} {name}: {text} ({time.monotonic() - start:.0f} s{seed})", flush=True)
    sys.exit(code)
