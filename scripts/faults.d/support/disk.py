"""A disk that can be filled."""

import errno
import os

from support.mounts import mount


class Disk:
    """A small file system, and a file that fills it."""

    def __init__(self, fault, mebibytes, name="disk"):
        self.path = fault.path(name)
        os.mkdir(self.path)
        mount(fault, "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", self.path)
        self.ballast = os.path.join(self.path, "ballast")

    def fill(self, leaving=0):
        """Fills the disk, and leaves this many bytes."""
        status = os.statvfs(self.path)
        count = status.f_bavail * status.f_frsize - leaving
        try:
            with open(self.ballast, "ab") as file:
                file.write(bytes(max(0, count)))
        except OSError as error:
            # The program that uses the disk may have taken some of the room meanwhile.
            if error.errno != errno.ENOSPC:
                raise

    def free(self):
        os.unlink(self.ballast)
