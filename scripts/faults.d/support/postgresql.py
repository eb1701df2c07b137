"""A PostgreSQL cluster in the fault's folder, which listens on a Unix socket only."""

import glob
import os
import pwd
import shutil
import signal
import subprocess
import time

from support.fault import Broken, Skipped, expect


class Cluster:
    """One cluster. A crash of its processes loses nothing that was committed.

    `primary` is another cluster, of which this one becomes a standby. `data` is the data folder, and `wal` the folder of
    the write-ahead log, if they are not in the cluster's folder. Their parents must exist.
    """

    def __init__(self, fault, name="postgresql", primary=None, data=None, wal=None):
        programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
        if not programs:
            raise Skipped("PostgreSQL is not installed (Debian's package postgresql)")
        self.programs = programs[-1]
        self.name = name
        self.folder = fault.path(name)
        self.data = data or os.path.join(self.folder, "data")
        self.log = os.path.join(self.folder, "log")
        os.mkdir(self.folder, 0o755)
        self.owner = []
        # PostgreSQL refuses to run as root.
        if os.geteuid() == 0:
            try:
                account = pwd.getpwnam("postgres")
            except KeyError:
                raise Skipped("PostgreSQL does not run as root, and there is no user postgres") from None
            for folder in filter(None, (self.folder, os.path.dirname(self.data), wal and os.path.dirname(wal))):
                os.chown(folder, account.pw_uid, account.pw_gid)
            self.owner = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        if primary:
            self.copy(primary)
        else:
            self.run("initdb", "--pgdata", self.data, "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync",
                     "--username=lockstep", *(["--waldir", wal] if wal else []))
            self.set("listen_addresses = ''", "max_connections = 200")
        self.set(f"unix_socket_directories = '{self.folder}'")
        fault.servers.append(self)

    def copy(self, primary):
        """Becomes a standby of another cluster. Removes what is in the data folder."""
        shutil.rmtree(self.data, ignore_errors=True)
        self.run("pg_basebackup", "--pgdata", self.data, "--checkpoint=fast", "--no-sync", "--dbname",
                 f"host={primary.folder} user=lockstep application_name={self.name}", "--write-recovery-conf")

    def set(self, *settings):
        """Adds lines to the configuration. A later line replaces an earlier one."""
        with open(os.path.join(self.data, "postgresql.conf"), "a") as file:
            file.write("".join(f"{setting}\n" for setting in settings))

    def reload(self):
        self.run("pg_ctl", "reload", "--pgdata", self.data, "--silent")

    def promote(self):
        """Makes a standby the primary."""
        self.run("pg_ctl", "promote", "--pgdata", self.data, "--wait", "--silent")

    def query(self, sql, database="postgres"):
        """Runs SQL, and returns the rows as lists of texts."""
        ended = self.run("psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--field-separator=\t",
                         "--set=ON_ERROR_STOP=1", "--dbname", self.connection(database), "--command", sql)
        return [line.split("\t") for line in ended.stdout.splitlines()]

    def open_session(self, database="postgres"):
        """Starts psql, which the caller feeds. It ends with the fault."""
        return Session(self, database)

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

    @property
    def responds(self):
        return self.run("pg_isready", "--host", self.folder, "--quiet", expects=None).returncode == 0

    def crash(self):
        """Kills the first process (SIGKILL). The others then end by themselves."""
        os.kill(self.id, signal.SIGKILL)

    def kill(self):
        self.run("pg_ctl", "stop", "--pgdata", self.data, "--mode=immediate", "--silent", expects=None)


class Session:
    """A psql process with a connection that stays open."""

    def __init__(self, cluster, database):
        self.process = subprocess.Popen(
            [*cluster.owner, os.path.join(cluster.programs, "psql"), "--no-psqlrc", "--quiet", "--tuples-only",
             "--no-align", "--set=ON_ERROR_STOP=1", "--dbname", cluster.connection(database)],
            cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )

    def run(self, sql):
        """Runs a statement, and returns the lines of output."""
        self.process.stdin.write(f"{sql};\n\\echo end-of-statement\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.strip() == "end-of-statement":
                return lines
            lines.append(line.strip())
        raise Broken(f"psql has ended: {lines}")

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)
