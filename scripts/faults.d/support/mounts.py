"""File systems of a fault's own, where this process may mount any."""

import os
import subprocess
import sys

from support.fault import Skipped


def may_mount():
    """Runs this program again in a name space of its own where only that lets it mount; raises Skipped where nothing
    does."""
    if os.environ.get("FAULTS_IN_NAME_SPACE"):
        return
    # Even root's mounts are nobody else's then, and go with this process.
    kinds = ["--mount"] if os.geteuid() == 0 else ["--user", "--map-root-user", "--mount"]
    probe = ["unshare", *kinds, "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", "/mnt"]
    if subprocess.run(probe, stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skipped("nothing can be mounted here, neither by this user nor in a name space (unshare)")
    os.environ["FAULTS_IN_NAME_SPACE"] = "1"
    sys.stdout.flush()
    os.execvp("unshare", ["unshare", *kinds, sys.executable, *sys.argv])


def mount(fault, *arguments):
    """Mounts; it's unmounted when the fault is over."""
    subprocess.run(["mount", *arguments], check=True)
    if arguments[-1] not in fault.mounts:
        fault.mounts.append(arguments[-1])
