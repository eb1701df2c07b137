"""PgBouncer in front of a cluster."""

import os
import shutil
import subprocess

from support.fault import Skipped, eventually


class Pooler:
    """PgBouncer in transaction mode, which listens on a Unix socket in its own folder. `connections` limits its
    connections to the cluster for each database and role."""

    PORT = 6432

    def __init__(self, fault, cluster, roles, port=5432, connections=4, name="pgbouncer"):
        program = shutil.which("pgbouncer", path=os.environ["PATH"] + ":/usr/sbin")
        if not program:
            raise Skipped("PgBouncer is not installed (Debian's package pgbouncer)")
        self.folder = fault.path(name)
        self.log = os.path.join(self.folder, "log")
        os.mkdir(self.folder, 0o755)
        configuration = os.path.join(self.folder, "pgbouncer.ini")
        with open(configuration, "w") as file:
            file.write(
                f"[databases]\n* = host={cluster.folder} port={port}\n"
                f"[pgbouncer]\nlisten_addr =\nlisten_port = {self.PORT}\nunix_socket_dir = {self.folder}\n"
                f"pool_mode = transaction\nauth_type = trust\nauth_file = {self.folder}/users\n"
                f"default_pool_size = {connections}\nmax_client_conn = 200\n"
            )
        with open(os.path.join(self.folder, "users"), "w") as file:
            file.write("".join(f'"{role}" ""\n' for role in roles))
        owner = os.stat(cluster.folder)
        for place in (self.folder, configuration, os.path.join(self.folder, "users")):
            os.chown(place, owner.st_uid, owner.st_gid)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([*cluster.owner, program, configuration], cwd="/", stdout=log, stderr=log)
        fault.servers.append(self)
        address = os.path.join(self.folder, f".s.PGSQL.{self.PORT}")
        eventually(lambda: os.path.exists(address), "PgBouncer does not listen", 10)

    def connection(self, database, user):
        return f"host={self.folder} port={self.PORT} dbname={database} user={user}"

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
