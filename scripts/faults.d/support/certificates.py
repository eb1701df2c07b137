"""Certificate authorities and certificates for a cluster's TLS, made with openssl in the fault's folder."""

import os
import shutil
import subprocess

from support.fault import Skipped


class Authority:
    """A certificate authority of its own."""

    def __init__(self, fault, name):
        if not shutil.which("openssl"):
            raise Skipped("openssl is not installed (Debian's package openssl)")
        self.prefix = fault.path(name)
        self.certificate = self.prefix + ".pem"
        self.key = self.prefix + ".key"
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                     "-subj", f"/CN={name}", "-keyout", self.key, "-out", self.certificate)

    def issue(self, host, folder):
        """Issues a certificate for a host, and writes it with its key as PostgreSQL expects them into a folder."""
        key, certificate, request = (os.path.join(folder, name) for name in ("server.key", "server.crt", "server.csr"))
        extensions = os.path.join(folder, "server.extensions")
        with open(extensions, "w") as file:
            file.write(f"subjectAltName=DNS:{host}\n")
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={host}",
                     "-keyout", key, "-out", request)
        self.openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-set_serial", "1",
                     "-days", "2", "-extfile", extensions, "-out", certificate)
        owner = os.stat(folder)
        for path in (key, certificate):
            os.chown(path, owner.st_uid, owner.st_gid)
        os.chmod(key, 0o600)

    @staticmethod
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)
