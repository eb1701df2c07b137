"""Compares the dependencies of each target with its imports, and exits with 1 if they differ.

The description of the package is on stdin, as `swift package dump-package` prints it. A target that depends on a program
without an import needs it to be built, for example a test that runs it. With --self-test, checks this program with
examples.
"""

import json
import os
import re
import sys

IMPORT = re.compile(
    r"^[ \t]*(?:@[\w().]+\s+)*(?:(?:public|package|internal|fileprivate|private) )?"
    r"import (?:(?:struct|class|enum|protocol|func|let|var|typealias) )?(\w+)",
    re.MULTILINE,
)


def place(target):
    return target.get("path") or f"{'Tests' if target['type'] == 'test' else 'Sources'}/{target['name']}"


def imports(target):
    names = set()
    for source in target.get("sources") or [""]:
        source = os.path.join(place(target), source)
        paths = [source] if source.endswith(".swift") else [
            os.path.join(path, name) for path, _, files in os.walk(source) for name in files if name.endswith(".swift")
        ]
        for path in paths:
            with open(path, encoding="utf-8") as stream:
                names.update(IMPORT.findall(stream.read()))
    return names


def faults(targets, imports):
    """Yields a sentence for each fault. `imports` returns the names that a target imports."""
    kinds = {target["name"]: target["type"] for target in targets}
    for target in targets:
        if target["type"] == "system":
            continue
        declared = {dependency["byName"][0] for dependency in target["dependencies"]}
        used = imports(target) & set(kinds)
        for name in sorted(declared - used):
            if kinds[name] != "executable":
                yield f"{target['name']} depends on {name} and does not import it"
        for name in sorted(used - declared):
            yield f"{target['name']} imports {name} and does not depend on it"


def self_test():
    targets = [
        {"name": "A", "type": "regular", "dependencies": [{"byName": ["B", None]}, {"byName": ["D", None]}]},
        {"name": "B", "type": "system", "dependencies": []},
        {"name": "C", "type": "regular", "dependencies": []},
        {"name": "D", "type": "executable", "dependencies": []},
    ]
    text = "import B\n@testable import C\npackage import struct E.F\n// import G\nlet a = 1 // import H\n"
    found = set(IMPORT.findall(text)), list(faults(targets, lambda _: {"C", "Glibc"}))
    expected = {"B", "C", "E"}, [
        "A depends on B and does not import it", "A imports C and does not depend on it",
        "C imports C and does not depend on it", "D imports C and does not depend on it",
    ]
    if found != expected:
        print(f"dependencies.py finds {found} instead of {expected}")
    return 0 if found == expected else 1


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    found = list(faults(json.load(sys.stdin)["targets"], imports))
    for fault in found:
        print(f"Package.swift: {fault}")
    return 1 if found else 0


sys.exit(main())
