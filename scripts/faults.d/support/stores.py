"""Makes stores with data, and reads their files."""

import os

from support.device import Devices
from support.server import Server


def make_store(fault, data, writes=60, size=2000, ends="stop"):
    """Makes a store and returns the devices that wrote to it. `ends` is "stop" or "kill"; a kill
    leaves a log beside the file."""
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
    """Returns the bytes and permissions of all files in a folder."""
    found = {}
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            with open(path, "rb") as file:
                found[name] = (os.stat(path).st_mode, file.read())
    return found
