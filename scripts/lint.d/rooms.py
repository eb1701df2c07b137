"""Compares the pictures of the targets in docs/internals.md with Package.swift; see scripts/lint --help.

The page has a table of the targets, whose last column has the targets that each imports, and a drawing in Mermaid. Both
must be what Package.swift says. Reads the output of `swift package dump-package`. --fix writes both.
"""

import json
import re
import sys
from pathlib import Path

PAGE = Path("docs/internals.md")
BEGIN, END = "<!-- rooms: made by scripts/lint --fix -->\n", "<!-- end of rooms -->\n"


def targets():
    """The targets of the product, each with the targets that it imports."""
    found = {}
    for target in json.load(sys.stdin)["targets"]:
        name = target["name"]
        if target["type"] in ("regular", "executable") and name.startswith("Lockstep") and "TestSupport" not in name:
            found[name] = [dependency["byName"][0] for dependency in target["dependencies"]]
    return found


def short(name):
    return re.sub(r"^(C)?Lockstep(?=\w)", r"\1", name)


def drawing(imports):
    """An arrow for each import that does not follow from the other ones."""
    own = {name: [other for other in others if other in imports] for name, others in imports.items()}
    below = {}

    def reached(name):
        if name not in below:
            below[name] = set()
            for other in own[name]:
                below[name] |= {other} | reached(other)
        return below[name]

    lines = ["```mermaid", "flowchart TD"]
    for name in sorted(own):
        direct = [
            other for other in own[name] if not any(other in reached(between) for between in own[name] if between != other)
        ]
        lines += [f"  {short(name)} --> {short(other)}" for other in sorted(direct)]
        if not direct:
            lines.append(f"  {short(name)}")
    return "\n".join(lines + ["```"]) + "\n"


def with_table(page, imports):
    """The page with the targets' imports in the last column of the table."""
    missing = dict(imports)

    def row(match):
        name = match.group(2)
        if name not in imports:
            raise SystemExit(f"scripts/lint: {PAGE} has a row of {name}, which is not in Package.swift")
        missing.pop(name)
        names = ", ".join(sorted(short(other) for other in imports[name])) or "–"
        return f"{match.group(1)}{names} |"

    page = re.sub(r"(?m)^(\| `(Lockstep\w*)`[^|]*\|[^|]*\| )([^|]*) \|$", row, page)
    if missing:
        raise SystemExit(f"scripts/lint: the table of targets in {PAGE} lacks {', '.join(sorted(missing))}")
    return page


def main():
    imports = targets()
    page = PAGE.read_text()
    wanted = with_table(page, imports)
    if BEGIN not in page or END not in page:
        raise SystemExit(f"scripts/lint: {PAGE} lacks the lines between which the drawing of the targets is")
    before, rest = wanted.split(BEGIN, 1)
    wanted = before + BEGIN + "\n" + drawing(imports) + "\n" + END + rest.split(END, 1)[1]
    if wanted == page:
        return
    if "--fix" in sys.argv[1:]:
        PAGE.write_text(wanted)
        return
    raise SystemExit(f"scripts/lint: the targets in {PAGE} are not those of Package.swift; run scripts/lint --fix")


main()
