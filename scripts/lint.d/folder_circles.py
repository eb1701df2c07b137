"""Finds folders of a target that refer to each other in a circle, and exits with 1 if there is a new one.

A folder refers to another folder of its target if its code names what that folder declares:

- a type, a function or a constant outside of types;
- a member of an extension, if nothing else in Sources has its name.

A name that several folders of a target declare tells nothing and is left out, as are comments and the text of strings.
So this program finds fewer references than the compiler would, but none that is wrong.

Folders are on a circle if each of them reaches the others. folder-circles.txt lists today's references on circles, one
a line, so that the list can only become shorter: a reference that it lacks is an error, and so is a line of it that is
no reference on a circle any more.

Arguments: the folder that has a folder for each target, such as Sources.

  --list         prints the lines that the list should have
  --references   prints all references between folders, on circles or not, with a few of their names
  --self-test    checks this program with examples
"""

import collections
import os
import re
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
LIST = os.path.join(FOLDER, "folder-circles.txt")

TYPES = {"struct", "class", "enum", "actor", "protocol"}
VALUES = {"func", "let", "var", "macro"}
TOKEN = re.compile(r"`?[A-Za-z_]\w*`?|[{}().:,=]|\n")
# The beginning or the end of text that is no code.
BORDER = re.compile(r'//|/\*|(#*)("""|")|(?<=[(=,:\s])#*/(?![\s/*])[^\n]*?[^\\\s]/#*(?=[),.\s\]]|$)|[()]', re.MULTILINE)


def code(text):
    """The text without comments, regular expressions and the text of strings. Keeps newlines and interpolations."""
    result, position = [], 0

    def skip_string(start, hashes, quote):
        """Appends the interpolations of a string whose text begins at `start`. Returns where it ends."""
        end, escape = quote + hashes, "\\" + hashes
        while start < len(text):
            if text.startswith(end, start):
                return start + len(end)
            if text.startswith(escape + "(", start):
                result.append(" ")
                start = copy(start + len(escape) + 1, 1)
                result.append(" ")
            elif text.startswith(escape, start):
                start += len(escape) + 1
            else:
                if text[start] == "\n":
                    result.append("\n")
                    if quote == '"':
                        return start + 1
                start += 1
        return start

    def copy(start, depth):
        """Appends code until the parenthesis that closes an interpolation, or until the end if the depth is 0."""
        is_interpolation = depth > 0
        while match := BORDER.search(text, start):
            result.append(text[start : match.start()])
            border, start = match[0], match.end()
            if border == "//":
                start = text.find("\n", start) if "\n" in text[start:] else len(text)
            elif border == "/*":
                nesting = 1
                while nesting and (inner := re.compile(r"/\*|\*/").search(text, start)):
                    nesting += 1 if inner[0] == "/*" else -1
                    result.append("\n" * text.count("\n", start, inner.start()))
                    start = inner.end()
            elif match[2]:
                result.append('""')
                start = skip_string(start, match[1], match[2])
            elif border in "()":
                depth += 1 if border == "(" else -1
                if is_interpolation and depth == 0:
                    return start
                result.append(border)
        result.append(text[start:])
        return len(text)

    copy(position, 0)
    return "".join(result)


class File:
    """The names that a file declares and uses."""

    def __init__(self, text):
        self.types = set()  # types outside of types
        self.nested = set()  # types in types and in functions, and names of generic parameters
        self.values = set()  # functions, constants and variables outside of types
        self.members = set()  # members of extensions
        self.others = set()  # whatever else may have a name: members of types, labels, locals
        self.uses = {}  # each name that follows no period, with the first line
        self.paths = {}  # each name that follows a period, with the first line
        self.read([token.strip("`") for token in TOKEN.findall(code(text))])

    def read(self, tokens):
        line = 1
        # The kind of each brace that is open, and the kind of the one that comes next.
        around, coming = [], "other"
        tokens = tokens + ["\n"]
        last = ""
        for index, token in enumerate(tokens):
            if token == "\n":
                line += 1
                continue
            following = next((each for each in tokens[index + 1 : index + 4] if each != "\n"), "")
            if token == "{":
                around.append(coming)
                coming = "other"
            elif token == "}":
                if around:
                    around.pop()
            elif token in "().:,=":
                pass
            elif last == ".":
                self.paths.setdefault(token, line)
            elif token in TYPES and following[:1].isupper() and last != "import":
                coming = "type"
            elif token == "extension" and following[:1].isalpha():
                coming = "extension"
            elif token == "typealias" or token == "associatedtype":
                pass
            elif last in TYPES and token[:1].isupper() or last in ("typealias", "associatedtype"):
                (self.nested if around or last == "associatedtype" else self.types).add(token)
            elif last in VALUES:
                if not around:
                    self.values.add(token)
                elif around == ["extension"]:
                    self.members.add(token)
                else:
                    self.others.add(token)
            elif following == ":" or following == "in" or last == "case":
                # Also the name of a type before a colon, which is a constraint or a generic parameter.
                self.others.add(token)
                self.uses.setdefault(token, line)
            else:
                self.uses.setdefault(token, line)
            last = token


def files(place):
    """Yields each file of the targets: the target, the folder in it, the path and what it declares and uses."""
    for target in sorted(os.listdir(place)):
        root = os.path.join(place, target)
        for path, _, names in os.walk(root):
            for name in sorted(names):
                if name.endswith(".swift"):
                    file = os.path.join(path, name)
                    with open(file, encoding="utf-8") as stream:
                        yield target, os.path.relpath(path, root), file, File(stream.read())


def references(all_files):
    """The references between folders: (target, folder, other folder) with lists of (path, line, name)."""
    all_files = list(all_files)
    # Where names are declared, of members in all targets.
    types, values = collections.defaultdict(set), collections.defaultdict(set)
    members, others = collections.defaultdict(set), collections.defaultdict(set)
    for target, folder, _, file in all_files:
        for name in file.types:
            types[target, name].add(folder)
        for name in file.nested:
            types[target, name].add(None)
        for name in file.values:
            values[target, name].add(folder)
        for name in file.members:
            members[name].add((target, folder))
        for name in file.values | file.others:
            others[name].add(target)
    found = collections.defaultdict(list)
    for target, folder, path, file in all_files:

        def use(places, line, name):
            if len(places) == 1 and None not in places and folder not in places:
                found[target, folder, next(iter(places))].append((path, line, name))

        for name, line in file.uses.items():
            use(types.get((target, name), ()), line, name)
            if target not in others[name] - {target} and (target, name) in values:
                is_unique = name not in members and not any(
                    name in each.others for other, _, _, each in all_files if other == target
                )
                use(values[target, name] if is_unique else (), line, name)
        for name, line in [*file.paths.items(), *file.uses.items()]:
            # A name of one word is too common: the standard library may have it.
            if name in members and name not in others and re.search("[a-z][A-Z]", name):
                places = members[name]
                if len(places) == 1 and next(iter(places))[0] == target:
                    use({each for _, each in places}, line, name)
    return found


def on_circles(found):
    """The references between folders that reach each other."""
    result = []
    for target, folder, other in sorted(found):
        reached, next_folders = set(), [other]
        while next_folders:
            each = next_folders.pop()
            if each not in reached:
                reached.add(each)
                next_folders += [end for place, start, end in found if place == target and start == each]
        if folder in reached:
            result.append((target, folder, other))
    return result


def line_of(reference):
    return f"{reference[0]}: {reference[1]} -> {reference[2]}"


def check(place):
    found = references(files(place))
    present = {line_of(each): each for each in on_circles(found)}
    with open(LIST, encoding="utf-8") as stream:
        known = {line.strip(): number for number, line in enumerate(stream, 1) if line.strip() and line[0] != "#"}
    count = 0
    for line, reference in present.items():
        if line not in known:
            path, number, name = found[reference][0]
            print(f"{path}:{number}: {name} makes a new circle of folders: {line}")
            print("  Move the code, so that references between these folders have one direction.")
            count += 1
    for line, number in known.items():
        if line not in present:
            print(f"{LIST}:{number}: {line} is no reference on a circle any more: remove the line")
            count += 1
    return 1 if count else 0


def self_test():
    def circles(**folders):
        all_files = [("T", name.split("_")[0], name, File(text)) for name, text in folders.items()]
        return [each[1:] for each in on_circles(references(all_files))]

    both = [("A", "B"), ("B", "A")]
    examples = [
        ("types", both, dict(A="struct Aa { let b: Bb }", B="struct Bb { func f(_: Aa) {} }")),
        ("one direction", [], dict(A="struct Aa { let b: Bb }", B="struct Bb {}")),
        ("three folders", [("A", "B"), ("B", "C"), ("C", "A")],
         dict(A="struct Aa { let b: Bb }", B="struct Bb { let c: Cc }", C="struct Cc { let a: Aa }")),
        ("a comment", [], dict(A="struct Aa { let b: Bb }", B="/* Aa /* Aa */ Aa */ struct Bb {} // Aa")),
        ("a string", [], dict(A="struct Aa { let b: Bb }", B='let bb = "Aa \\" Aa"; struct Bb {}')),
        ("an interpolation", both, dict(A="struct Aa { let b: Bb }", B='let bb = "x\\(f("y", Aa()))"; struct Bb {}')),
        ("a long string", [], dict(A="struct Aa { let b: Bb }", B='let bb = """\n  " Aa\n  """\nstruct Bb {}')),
        ("a raw string", [], dict(A="struct Aa { let b: Bb }", B='let bb = #"\\(Aa) " Aa"#\nstruct Bb {}')),
        ("a regular expression", [], dict(A="struct Aa { let b: Bb }", B='let bb = /"Aa"/\nstruct Bb {}')),
        ("a nested type of the same name", [],
         dict(A="struct Aa { let b: Bb }", B="struct Bb { struct Aa {}; let a: Aa }")),
        ("a type of two folders", [], dict(A="struct Aa { let b: Bb }", B="struct Bb { let a: Aa }", C="struct Aa {}")),
        ("a member of a type", [], dict(A="struct Aa { let b: Bb }", B="struct Bb { let a = C.Aa() }")),
        ("an extension", both, dict(A="struct Aa { let b: Bb }", B="extension Aa { struct Bx {} }; struct Bb {}")),
        ("an extension's member", both,
         dict(A="struct Aa { func f() { g.oneOfB() } }", B="extension Aa { func oneOfB() {} }")),
        ("a member that is also something else", [],
         dict(A="struct Aa { func f() { g.oneOfB() } }", B="extension Aa { func oneOfB() {} }", C="let oneOfB = 1")),
        ("a member of one word", [], dict(A="struct Aa { func f() { g.one() } }", B="extension Aa { func one() {} }")),
        ("a function", both, dict(A="func oneOfA() { _ = Bb() }", B="struct Bb { let a = oneOfA() }")),
        ("a parameter of a function's name", [], dict(A="func one() { _ = Bb() }", B="struct Bb { func f(one: Int) { one } }")),
        ("two files of a folder", both, dict(A_1="struct Aa {}", A_2="let aa = Bb()", B="struct Bb { let a: Aa }")),
        ("a protocol that a type conforms to", both, dict(A="protocol Aa { var b: Bb { get } }", B="struct Bb: Aa {}")),
    ]
    wrong = 0
    for name, expected, folders in examples:
        if (result := circles(**folders)) != expected:
            print(f"folder_circles.py finds {result} instead of {expected} for {name}")
            wrong = 1
    return wrong


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    options, places = [each for each in arguments if each[0] == "-"], [each for each in arguments if each[0] != "-"]
    if len(places) != 1 or not set(options) <= {"--list", "--references"}:
        sys.exit(__doc__)
    if not options:
        return check(places[0])
    found = references(files(places[0]))
    for reference in on_circles(found) if "--list" in options else sorted(found):
        names = ", ".join(sorted({name for _, _, name in found[reference]})[:8])
        print(line_of(reference) + (f"  # {names}" if "--references" in options else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
