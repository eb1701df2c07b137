"""Prints how many lines the tests ran through, by room, from the summary that llvm-cov exports (on standard input).

Exits 1 where a room that is held to the limit is below it and the file of reasons gives none, and 65 where that file
can't be read.
"""

import argparse
import json
import sys

# The rooms that are held to the limit: folders below Sources/.
HELD = ["LockstepHTTP", "LockstepHTTPServer", "LockstepJSON", "Lockstep/Services", "Lockstep/Sync", "LockstepReactor", "LockstepSQLite"]
# The least share of their lines that has to be run through, in percent.
LIMIT = 90.0


class Share:
    """The lines of a room or a file, and how many of them no test ran through."""

    def __init__(self):
        self.lines = 0
        self.missed = 0

    def add(self, lines, missed):
        self.lines += lines
        self.missed += missed

    @property
    def percent(self):
        return 100 * (self.lines - self.missed) / self.lines if self.lines else 100.0

    @property
    def is_low(self):
        return self.percent < LIMIT

    def row(self, name):
        # Rounded down: what is below the limit mustn't look as if it reached it.
        percent = int(self.percent * 10) / 10
        return f"{name:<64} {self.lines:>7} {self.missed:>7} {percent:>7.1f} %"


def shares(summary):
    """What llvm-cov tells of each file, and the sums of the rooms; both by the path below Sources/."""
    files, rooms = {}, {}
    for entry in summary["data"][0]["files"]:
        _, found, name = entry["filename"].rpartition("/Sources/")
        if not found or "/Examples/" in entry["filename"]:
            continue
        lines = entry["summary"]["lines"]
        missed = lines["count"] - lines["covered"]
        files[name] = Share()
        for share in [files[name], *(rooms.setdefault(room, Share()) for room in rooms_of(name))]:
            share.add(lines["count"], missed)
    return files, rooms


def rooms_of(name):
    """The rooms that a file belongs to; of the largest room, which is one of many, its parts too."""
    parts = name.split("/")
    return ["(all)", parts[0]] + (["/".join(parts[:2])] if parts[0] == "Lockstep" and len(parts) > 2 else [])


def is_held(name):
    return any(name == room or name.startswith(room + "/") for room in HELD)


def read_reasons(path):
    reasons = {}
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            name, separator, reason = line.partition(": ")
            if not separator or not reason.strip():
                print(f"{path}:{number}: this has to be '<room or file>: <reason>'", file=sys.stderr)
                sys.exit(65)
            reasons[name] = reason.strip()
    return reasons


def print_rows(shares_by_name, names, reasons):
    """A row for each name, and below it the reason where it's low and has one."""
    for name in names:
        print(shares_by_name[name].row(name))
        if shares_by_name[name].is_low and name in reasons:
            print(f"    {reasons[name]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reasons", required=True, help="the file of reasons")
    parser.add_argument("--partly", action="store_true", help="only some tests were run: holds nothing to the limit")
    arguments = parser.parse_args()

    reasons = read_reasons(arguments.reasons)
    files, rooms = shares(json.load(sys.stdin))
    low_rooms = [room for room in HELD if room not in rooms or rooms[room].is_low]
    low_files = [name for name in sorted(files) if is_held(name) and files[name].is_low]

    print(f"{'Room':<64} {'Lines':>7} {'Missed':>7} {'Covered':>9}")
    print_rows(rooms, sorted(rooms), reasons)
    print(f"\nFiles below {LIMIT:g} % in {', '.join(HELD)}:")
    print_rows(files, low_files, reasons)
    if arguments.partly:
        return 0

    # What threads do to each other is chance, so that a file may need its reason one time and not another.
    spare = [name for name in reasons if name not in low_rooms and name not in low_files]
    if spare:
        print(f"\nReasons that weren't needed this time: {', '.join(spare)}")
    unexplained = [room for room in low_rooms if room not in reasons]
    for room in unexplained:
        print(f"{room} is below {LIMIT:g} %, and {arguments.reasons} has no reason", file=sys.stderr)
    return 1 if unexplained else 0


sys.exit(main())
