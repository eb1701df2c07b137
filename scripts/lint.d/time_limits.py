"""Prints every test without a time limit, as FILE:LINE, and exits with 1 if there is any.

A test has a limit if `.timeLimit(…)` is a trait of the test itself or of a suite around it. Without one, a test that
waits for something that never comes hangs the whole run. The script relies on the indentation that swift-format checks.
"""

import os
import re
import sys

ATTRIBUTE = re.compile(r"^( *)@(Suite|Test)\b")
TYPE = re.compile(r"^( *)(?:@Suite\(.*\) )?(?:\w+ )*(?:struct|class|actor|enum|extension) ([\w.]+)")


def attribute_text(lines, number):
    """The lines of an attribute, up to the one that closes its parentheses."""
    indent = len(lines[number]) - len(lines[number].lstrip())
    text = [lines[number]]
    if lines[number].rstrip().endswith("("):
        for line in lines[number + 1 :]:
            text.append(line)
            if line.startswith(" " * indent + ")"):
                break
    return "\n".join(text)


def types_and_tests(text):
    """Yields each type and each test of a file: its line, its names from the outside in, and whether it has a limit."""
    lines = text.split("\n")
    around, suite_has_limit = [], False
    for number, line in enumerate(lines):
        if attribute := ATTRIBUTE.match(line):
            has_limit = ".timeLimit(" in attribute_text(lines, number)
            if attribute[2] == "Suite":
                suite_has_limit = has_limit
            else:
                # Everything that is indented as much has ended.
                around = [each for each in around if each[0] < len(attribute[1])]
                yield number + 1, "Test", [each[1] for each in around], has_limit
        if declaration := TYPE.match(line):
            around = [each for each in around if each[0] < len(declaration[1])]
            around.append((len(declaration[1]), declaration[2]))
            yield number + 1, "Type", [each[1] for each in around], suite_has_limit
            suite_has_limit = False
        elif line.startswith("}"):
            around = []


def swift_files(folders):
    for folder in folders:
        for path, _, names in os.walk(folder):
            for name in sorted(names):
                if name.endswith(".swift") and "/.build" not in path:
                    yield os.path.join(path, name)


def main():
    tests, limited = [], set()
    for path in swift_files(sys.argv[1:]):
        with open(path, encoding="utf-8") as file:
            for line, kind, names, has_limit in types_and_tests(file.read()):
                names = ".".join(names).split(".") if names else []
                if kind == "Test" and not has_limit:
                    tests.append((path, line, names))
                elif kind == "Type" and has_limit:
                    limited.add(tuple(names))
    # An extension has the limit of its type, which may be in another file.
    count = 0
    for path, line, names in tests:
        if not any(tuple(names[:end]) in limited for end in range(1, len(names) + 1)):
            print(f"{path}:{line}: neither this test nor a suite around it has .timeLimit(…)")
            count += 1
    return 1 if count else 0


sys.exit(main())
