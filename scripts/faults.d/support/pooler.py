"""PgBouncer in front of a cluster."""

import os
import shutil
import signal
import socket
import subprocess

from support.fault import Skipped, eventually


class Pooler:
    """PgBouncer, which listens on a Unix socket in its own folder. `connections` limits its connections to the cluster
    for each database and role."""

    PORT = 6432
    ADMINISTRATOR = "administrator"

    def __init__(self, fault, cluster, roles, mode="transaction", connections=8):
        self.program = shutil.which("pgbouncer", path=os.environ["PATH"] + ":/usr/sbin")
        if not self.program:
            raise Skipped("PgBouncer is not installed (Debian's package pgbouncer)")
        self.cluster, self.mode, self.connections = cluster, mode, connections
        self.folder = fault.path(f"pgbouncer-{mode}")
        self.log = os.path.join(self.folder, "log")
        self.process = None
        os.mkdir(self.folder, 0o755)
        with open(os.path.join(self.folder, "users"), "w") as file:
            file.write("".join(f'"{role}" ""\n' for role in [*roles, self.ADMINISTRATOR]))
        owner = os.stat(cluster.folder)
        for place in (self.folder, os.path.join(self.folder, "users")):
            os.chown(place, owner.st_uid, owner.st_gid)
        self.configure()
        fault.servers.append(self)
        self.start()

    def configure(self):
        with open(os.path.join(self.folder, "pgbouncer.ini"), "w") as file:
            file.write(
                f"[databases]\n* = host={self.cluster.folder} port=5432\n"
                f"[pgbouncer]\nlisten_addr =\nlisten_port = {self.PORT}\nunix_socket_dir = {self.folder}\n"
                f"pool_mode = {self.mode}\nauth_type = trust\nauth_file = {self.folder}/users\n"
                f"admin_users = {self.ADMINISTRATOR}\ndefault_pool_size = {self.connections}\nmax_client_conn = 200\n"
                # It does not try again for 15 s otherwise.
                "server_login_retry = 1\n"
            )

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*self.cluster.owner, self.program, os.path.join(self.folder, "pgbouncer.ini")],
                cwd="/", stdout=log, stderr=log,
            )
        eventually(self.listens, "PgBouncer does not listen", 10)

    def listens(self):
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(os.path.join(self.folder, f".s.PGSQL.{self.PORT}")) == 0

    def restart(self):
        """Kills the process, and starts another one. All connections are lost."""
        self.kill()
        self.start()

    def command(self, text):
        return self.query(text, "pgbouncer", self.ADMINISTRATOR)

    def query(self, sql, database, role):
        """Runs SQL through the pooler, and returns the rows as lists of texts."""
        ended = self.cluster.run(
            "psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--field-separator=\t",
            "--set=ON_ERROR_STOP=1", "--dbname", self.connection(database, role), "--command", sql,
        )
        return [line.split("\t") for line in ended.stdout.splitlines()]

    def lead_to(self, cluster, change):
        """Leads to another cluster from now on. No transaction runs during `change`, and no client loses its
        connection."""
        self.command("PAUSE")
        change()
        self.cluster = cluster
        self.configure()
        self.process.send_signal(signal.SIGHUP)
        eventually(
            lambda: any(cluster.folder in row for row in self.command("SHOW DATABASES")),
            "PgBouncer does not read its configuration", 10,
        )
        self.command("RESUME")

    def connection(self, database, role):
        return f"host={self.folder} port={self.PORT} dbname={database} user={role}"

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
