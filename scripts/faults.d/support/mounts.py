"""Mounts for one fault."""

import os
import subprocess
import sys

from support.fault import Skipped


def may_mount():
    """Runs this program again in its own mount name space. Raises Skipped if the process cannot
    mount there either."""
    if os.environ.get("FAULTS_IN_NAME_SPACE"):
        return
    # In a name space, other processes do not see the mounts, and the mounts end with this process.
    kinds = ["--mount"] if os.geteuid() == 0 else ["--user", "--map-root-user", "--mount"]
    probe = ["unshare", *kinds, "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", "/mnt"]
    if subprocess.run(probe, stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skipped("this process cannot mount, not even in a name space (unshare)")
    os.environ["FAULTS_IN_NAME_SPACE"] = "1"
    sys.stdout.flush()
    os.execvp("unshare", ["unshare", *kinds, sys.executable, *sys.argv])


def mount(fault, *arguments):
    """Mounts until the fault ends."""
    subprocess.run(["mount", *arguments], check=True)
    if arguments[-1] not in fault.mounts:
        fault.mounts.append(arguments[-1])
