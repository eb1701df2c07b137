"""Finds String as a key, and exits with 1 if there is any.

Swift compares String by Unicode equivalence, and the store compares bytes: two keys of the store would be one key in
memory. Text from outside is an ExactText as a key. Prints FILE:LINE and the reason for:

- a dictionary, a set or a cache with the key String or Substring;
- a type with a synthesized hash(into:) and a String in it.

The folders are arguments. text-keys-allowed.txt lists the exceptions, each with its reason. An exception that allows
nothing is an error. With --self-test, checks this program with examples.
"""

import os
import re
import sys

sys.dont_write_bytecode = True
from exceptions import Exceptions  # noqa: E402

FOLDER = os.path.dirname(os.path.abspath(__file__))
TEXT = r"(?:String|Substring|Character)\b"
GENERIC = "Dictionary|Set|GenerationalCache|SingleFlight|WaiterRegistry|RateTable|FairShareLimiter"
KEY = re.compile(
    rf"\[\s*{TEXT}\??\s*:"  # [String: …]
    rf"|\b(?:{GENERIC})<\(?\s*{TEXT}"  # Set<String>, SingleFlight<String, …>
    r'|:\s*Set\s*=\s*\['  # a set whose elements the text does not tell, nearly always literals
    r'|\bSet\(\[\s*"|\bSet\(.*\.map\((?:String\.init|\\\.(?:key|name|pointer|text|title))\)'
    r"|\bDictionary\(.*\{\s*\(\$0\.(?:key|name|text)\s*,"
)
TYPE = re.compile(
    # A look-ahead, so that types in types are found too.
    r"^(?=( *)(?:[\w@()]+ )*(?:struct|enum) (\w+)[^\n{]*\bHashable\b[^\n{]*\{\n(.*?)^\1\})", re.MULTILINE | re.DOTALL
)
FIELD = r"(?:[\w()]+ )*(?:let|var) \w+: \[?String\b\]?\??(?: =.*)?$|case \w+\(.*\bString\b"


def without_comments(text):
    """The lines without comments. Strings keep their quotation marks."""
    return [re.sub(r'("(?:\\.|[^"\\])*")|//.*', lambda match: match[1] or "", line) for line in text.split("\n")]


def findings(text):
    """Yields the number of a line and what is wrong there."""
    lines = without_comments(text)
    for number, line in enumerate(lines, 1):
        if KEY.search(line):
            yield number, "String as a key"
    code = "\n".join(lines)
    for match in TYPE.finditer(code):
        # Only lines that are indented as parts of the type itself.
        own = [line[len(match[1]) + 2 :] for line in match[3].split("\n") if re.match(rf"{match[1]}  \S", line)]
        if not any("func hash(into" in line for line in own) and any(re.match(FIELD, line) for line in own):
            yield code.count("\n", 0, match.start()) + 1, f"{match[2]} hashes a String"


def check(folders, exceptions):
    count = 0
    for folder in folders:
        for path, _, names in os.walk(folder):
            for name in sorted(names):
                if not name.endswith(".swift"):
                    continue
                file = os.path.join(path, name)
                with open(file, encoding="utf-8") as stream:
                    text = stream.read()
                lines = text.split("\n")
                for number, fault in findings(text):
                    if not exceptions.allow(file, lines[number - 1]):
                        print(f"{file}:{number}: {fault}: use ExactText, which compares bytes")
                        count += 1
    for number in exceptions.unused():
        print(f"{exceptions.path}:{number}: this exception allows nothing any more: remove it")
        count += 1
    return 1 if count else 0


def self_test():
    found = {
        "let a: [String: Int] = [:]": 1,
        "let a = [Substring : Int]()": 1,
        "var a: Set<String> = []": 1,
        "let a = SingleFlight<String, Int, Never>()": 1,
        "let a = LockedState<[String: Int]>([:])": 1,
        'let a: Set = ["a"]': 1,
        'let a = Set(["a"])': 1,
        r"let a = Set(all.map(\.name))": 1,
        "let a = Dictionary(all.map { ($0.name, $0) }) { $1 }": 1,
        "struct A: Hashable {\n  let a: String\n}": 1,
        "enum A: Sendable, Hashable {\n  case a(Int)\n  case b(name: String)\n}": 1,
        "let a: [ExactText: String] = [:]": 0,
        "let a: Set<ExactText> = []": 0,
        r"let a = Set(all.map(\.name.exact))": 0,
        "// let a: [String: Int]": 0,
        "struct A {\n  struct B: Hashable {\n    let a: String?\n  }\n}": 1,
        "struct A: Hashable {\n  struct B: Hashable {\n    let a: String\n  }\n  let b: Int\n}": 1,
        "struct A: Hashable {\n  let a: ExactText\n}": 0,
        "struct A: Hashable {\n  let a: String\n  func hash(into hasher: inout Hasher) {}\n}": 0,
        "struct A: Equatable {\n  let a: String\n}": 0,
    }
    wrong = [code for code, count in found.items() if len(list(findings(code))) != count]
    for code in wrong:
        print(f"text_keys.py finds another number of faults than {found[code]} in: {code}")
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    sys.exit(check(sys.argv[1:], Exceptions(os.path.join(FOLDER, "text-keys-allowed.txt"))))
