"""The numbers that a preloaded library and a fault share: see preload/control.h."""

import mmap
import struct


class Numbers:
    """Numbers of 32 bits in a mapped file, which the library sees at once."""

    def __init__(self, path, count):
        self.path = path
        with open(path, "w+b") as file:
            file.truncate(4 * count)
            self.bytes = mmap.mmap(file.fileno(), 4 * count)

    def __getitem__(self, place):
        return struct.unpack_from("i", self.bytes, 4 * place)[0]

    def __setitem__(self, place, number):
        struct.pack_into("i", self.bytes, 4 * place, number)


class FailingDisk:
    """Makes servers' calls on a store's files fail at random, and keeps the disk's contents after a
    power cut."""

    CALLS = ("write", "sync", "truncate", "map", "read", "open")

    def __init__(self, fault, data, kept_in=None):
        self.numbers = Numbers(fault.path("disk"), 2 * len(self.CALLS) + 1)
        self.variables = {
            "LD_PRELOAD": fault.library("disk"),
            "FAULTS_DISK": self.numbers.path,
            "FAULTS_FILES": data,
        }
        if kept_in:
            self.variables["FAULTS_AFTER_POWER_CUT"] = kept_in

    def fail(self, calls, share, code):
        """From now on this share of these calls fails with this errno. All others succeed."""
        self.numbers[2 * len(self.CALLS)] = code
        for place, call in enumerate(self.CALLS):
            self.numbers[place] = int(share * 65536) if call in calls else 0

    def work(self):
        """From now on no call fails."""
        self.fail((), 0, 0)

    def failed(self, call):
        """How many of these calls have failed so far."""
        return self.numbers[len(self.CALLS) + self.CALLS.index(call)]
