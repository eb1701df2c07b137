"""The lists of exceptions of the checks in this folder."""

import fnmatch
import re
import sys


class Exceptions:
    """A file with lines of the form '<path pattern> :: <regular expression for the line> :: <reason>'."""

    def __init__(self, path):
        self.path, self.entries = path, []
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                line = line.strip()
                if not line or line.startswith("#"):
                    continue
                parts = [part.strip() for part in line.split(" :: ")]
                if len(parts) != 3 or not all(parts):
                    sys.exit(f"{path}:{number}: expected '<path pattern> :: <regular expression> :: <reason>'")
                self.entries.append([number, parts[0], re.compile(parts[1]), False])

    def allow(self, path, line):
        """Whether an entry allows this line of a file."""
        is_allowed = False
        for entry in self.entries:
            _, pattern, expression, _ = entry
            if fnmatch.fnmatch(path, pattern) and expression.search(line):
                entry[3] = is_allowed = True
        return is_allowed

    def unused(self):
        """The numbers of the lines that have allowed nothing so far."""
        return [number for number, _, _, is_used in self.entries if not is_used]
