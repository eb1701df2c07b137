"""Prints the share of lines that the tests ran, by target, from llvm-cov's summary on stdin.

Exits with 1 if a target is below the limit and the file of reasons has none, and with 65 if that file is malformed or
a name in it or in this script does not exist.
"""

import argparse
import json
import sys

# The targets to which the limit applies: folders below Sources/.
HELD = [
    "LockstepAccounts", "LockstepCollections", "LockstepCryptography", "LockstepHTTP", "LockstepHTTPServer",
    "LockstepIdentity", "LockstepJSON", "LockstepMail", "LockstepReactor", "LockstepSchema", "LockstepSQLite",
    "LockstepSQLiteStore", "LockstepStore", "LockstepSync", "LockstepWebhooks",
]
# The share of their lines that the tests must run, in percent.
LIMIT = 90.0


class Share:
    """The number of lines of a target or a file, and how many of them no test ran."""

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
        # Rounded down, so that a share below the limit does not look as if it reached it.
        percent = int(self.percent * 10) / 10
        return f"{name:<64} {self.lines:>7} {self.missed:>7} {percent:>7.1f} %"


def shares(summary):
    """The share of each file and of each target, by the path below Sources/."""
    files, targets = {}, {}
    for entry in summary["data"][0]["files"]:
        _, found, name = entry["filename"].rpartition("/Sources/")
        if not found or "/Examples/" in entry["filename"]:
            continue
        lines = entry["summary"]["lines"]
        missed = lines["count"] - lines["covered"]
        files[name] = Share()
        target = name.partition("/")[0]
        for share in [files[name], targets.setdefault("(all)", Share()), targets.setdefault(target, Share())]:
            share.add(lines["count"], missed)
    return files, targets


def is_held(name):
    return any(name.startswith(target + "/") for target in HELD)


def read_reasons(path):
    reasons = {}
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            name, separator, reason = line.partition(": ")
            if not separator or not reason.strip():
                print(f"{path}:{number}: expected '<target or file>: <reason>'", file=sys.stderr)
                sys.exit(65)
            reasons[name] = reason.strip()
    return reasons


def print_rows(shares_by_name, names, reasons):
    """Prints a row for each name. If its share is low and there is a reason, the reason follows."""
    for name in names:
        print(shares_by_name[name].row(name))
        if shares_by_name[name].is_low and name in reasons:
            print(f"    {reasons[name]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reasons", required=True, help="the file of reasons")
    parser.add_argument("--partly", action="store_true", help="only some tests ran: ignore the limit")
    arguments = parser.parse_args()

    reasons = read_reasons(arguments.reasons)
    files, targets = shares(json.load(sys.stdin))
    unknown = [name for name in [*HELD, *reasons] if name not in targets and name not in files]
    if unknown:
        print(f"no target or file below Sources/ has this name: {', '.join(unknown)}", file=sys.stderr)
        return 65
    low_targets = [target for target in HELD if targets[target].is_low]
    low_files = [name for name in sorted(files) if is_held(name) and files[name].is_low]

    print(f"{'Target':<64} {'Lines':>7} {'Missed':>7} {'Covered':>9}")
    print_rows(targets, sorted(targets), reasons)
    print(f"\nFiles below {LIMIT:g} % in {', '.join(HELD)}:")
    print_rows(files, low_files, reasons)
    if arguments.partly:
        return 0

    # Threads interleave by chance, so a file may need its reason in one run and not in another.
    spare = [name for name in reasons if name not in low_targets and name not in low_files]
    if spare:
        print(f"\nReasons that this run did not need: {', '.join(spare)}")
    unexplained = [target for target in low_targets if target not in reasons]
    for target in unexplained:
        print(f"{target} is below {LIMIT:g} %, and {arguments.reasons} has no reason", file=sys.stderr)
    return 1 if unexplained else 0


sys.exit(main())
