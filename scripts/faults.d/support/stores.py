"""Stores that have something in them, and their bytes."""

import os

from support.device import Devices
from support.server import Server


def make_store(fault, data, writes=60, size=2000, ends="stop"):
    """Makes a store and returns the devices that have written to it; the server `stop`s or is `kill`ed, so that there is a
    log beside the file."""
    server = Server(fault, data, name="maker").listening()
    devices = Devices(fault, server, size=size)
    devices.connect(server)
    devices.write(until=lambda: devices.acknowledged >= writes)
    if ends == "kill":
        server.kill()
        devices.forget_certainty()
    else:
        server.stop()
    return devices


def contents(folder):
    """All files of a folder, byte for byte, with their permissions."""
    found = {}
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            with open(path, "rb") as file:
                found[name] = (os.stat(path).st_mode, file.read())
    return found
