"""A PostgreSQL cluster in the fault's folder, which listens on a Unix socket only."""

import glob
import os
import pwd
import signal
import subprocess
import time

from support.fault import Skipped, expect


class Cluster:
    """One cluster. A crash of its processes loses nothing that was committed."""

    def __init__(self, fault, name="postgresql"):
        programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
        if not programs:
            raise Skipped("PostgreSQL is not installed (Debian's package postgresql)")
        self.programs = programs[-1]
        self.folder = fault.path(name)
        self.data = os.path.join(self.folder, "data")
        self.log = os.path.join(self.folder, "log")
        os.mkdir(self.folder, 0o755)
        self.owner = []
        # PostgreSQL refuses to run as root.
        if os.geteuid() == 0:
            try:
                account = pwd.getpwnam("postgres")
            except KeyError:
                raise Skipped("PostgreSQL does not run as root, and there is no user postgres") from None
            os.chown(self.folder, account.pw_uid, account.pw_gid)
            self.owner = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        self.run("initdb", "--pgdata", self.data, "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync",
                 "--username=lockstep")
        with open(os.path.join(self.data, "postgresql.conf"), "a") as settings:
            settings.write(f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\nmax_connections = 200\n")
        fault.servers.append(self)

    def connection(self, database="postgres"):
        return f"host={self.folder} dbname={database} user=lockstep"

    def run(self, program, *arguments, expects=0):
        ended = subprocess.run(
            [*self.owner, os.path.join(self.programs, program), *arguments],
            cwd="/", capture_output=True, text=True, check=False,
        )
        if expects is not None:
            expect(ended.returncode == expects, lambda: f"{program} exits with {ended.returncode}: {ended.stderr}")
        return ended

    def start(self, seconds=60):
        """Starts the cluster. After a crash, processes of the old one may take a moment to end."""
        end = time.monotonic() + seconds
        while True:
            # The server keeps the streams of pg_ctl open, so they must not be pipes.
            ended = subprocess.run(
                [*self.owner, os.path.join(self.programs, "pg_ctl"), "start", "--pgdata", self.data, "--wait",
                 "--silent", "--log", self.log],
                cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
            )
            if ended.returncode == 0:
                return self
            expect(time.monotonic() < end, lambda: f"PostgreSQL does not start: {self.said()}")
            time.sleep(0.1)

    def said(self):
        with open(self.log, errors="replace") as log:
            return log.read()[-2000:]

    @property
    def id(self):
        """The id of the first process; None if the cluster does not run."""
        try:
            with open(os.path.join(self.data, "postmaster.pid")) as file:
                return int(file.readline())
        except (OSError, ValueError):
            return None

    def crash(self):
        """Kills the first process (SIGKILL). The others then end by themselves."""
        os.kill(self.id, signal.SIGKILL)

    def kill(self):
        self.run("pg_ctl", "stop", "--pgdata", self.data, "--mode=immediate", "--silent", expects=None)
