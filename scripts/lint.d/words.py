"""Finds words in prose that STYLE forbids; see scripts/lint-words --help."""

import argparse
import io
import os
import re
import subprocess
import sys
import tokenize

from exceptions import Exceptions

FORBIDDEN = re.compile(
    r"\b(whoever|whomever|anew|in\s+the\s+place\s+of|nobody|somebody|(?:is|are)\s+told)\b", re.IGNORECASE
)
QUESTION_WORD = re.compile(r"\b(Who|What)\b")
# A sentence also ends with a table cell, a list item, a heading or a paragraph.
SENTENCE_END = re.compile(r"""[.?!](?=["'”’)*_|\s]|$)|\s\|(?=\s|$)|\n\s*(?:[-*#|>]|\d+\.)|\n\s*\n""")
ALLOWED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "words-allowed.txt")

# A comment or a string, or a regular expression, which is no prose. Interpolations need a parser:
# see swift_strings.
C_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
SWIFT_START = re.compile(
    r'//[^\n]*|/\*|(#*)("""|")|(?<=[(=,:\s])#*/(?![\s/*])[^\n]*?[^\\\s]/#*(?=[),.\s\]]|$)', re.MULTILINE
)


class Prose:
    """Text that a person reads: pieces, each with the number of its first line."""

    def __init__(self):
        self.pieces = []

    def add(self, line, text, is_comment=False):
        """Adds a piece. Comment lines that follow each other are one piece, because sentences run
        across them."""
        if is_comment and self.pieces:
            start, before, was_comment = self.pieces[-1]
            if was_comment and start + before.count("\n") + 1 == line:
                self.pieces[-1] = (start, f"{before}\n{text}", True)
                return
        self.pieces.append((line, text, is_comment))


def swift_prose(text):
    prose, place = Prose(), 0
    while match := SWIFT_START.search(text, place):
        start, place = match.start(), match.end()
        line = text.count("\n", 0, start) + 1
        token = match[0]
        if token.startswith("//"):
            prose.add(line, token.lstrip("/"), is_comment=True)
        elif token == "/*":
            end = text.find("*/", place)
            place = len(text) if end < 0 else end + 2
            prose.add(line, text[start + 2 : end])
        elif match[2]:
            content, place = swift_string(text, place, match[2] + match[1], "\\" + match[1])
            prose.add(line, content)
    return prose.pieces


def swift_string(text, place, close, escape):
    """The string literal that begins at `place`, with each interpolation replaced by one character,
    and its end."""
    content = []
    while place < len(text):
        if text.startswith(close, place):
            return "".join(content), place + len(close)
        if text.startswith(escape, place):
            place += len(escape)
            if text[place : place + 1] == "(":
                place = end_of_interpolation(text, place + 1)
                content.append("…")
            else:
                content.append(" ")
                place += 1
        else:
            content.append(text[place])
            place += 1
    return "".join(content), place


def end_of_interpolation(text, place):
    depth = 1
    while place < len(text) and depth:
        if text[place] == '"':
            close = '"""' if text.startswith('"""', place) else '"'
            _, place = swift_string(text, place + len(close), close, "\\")
            continue
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        place += 1
    return place


def c_prose(text):
    prose = Prose()
    for match in C_TOKEN.finditer(text):
        token = match[0]
        line = text.count("\n", 0, match.start()) + 1
        if token.startswith("//"):
            prose.add(line, token[2:], is_comment=True)
        elif not token.startswith("'"):
            prose.add(line, token.strip('/*"'))
    return prose.pieces


def python_prose(text):
    prose = Prose()
    strings = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            prose.add(token.start[0], token.string[1:], is_comment=True)
        elif token.type in strings:
            prose.add(token.start[0], token.string)
    return prose.pieces


def markdown_prose(text):
    """The whole page without the names of tests in its tables."""
    lines, names_tests = [], False
    for line in text.split("\n"):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            names_tests = False
        elif cells[-1] == "test":
            names_tests = True
        elif names_tests:
            line = line.rstrip().rstrip("|").rpartition("|")[0] + "|"
        lines.append(line)
    return [(1, "\n".join(lines), False)]


def plain_prose(text):
    """Every line, without the marks of comments in scripts, SQL and Lua."""
    return [(1, re.sub(r"^[ \t]*(?:#|--|//)[ \t]?", "", text, flags=re.MULTILINE), False)]


READERS = {
    ".swift": swift_prose, ".c": c_prose, ".h": c_prose, ".py": python_prose, ".md": markdown_prose,
}


def reader(path, text):
    if re.match(r"#!.*\bpython", text):
        return python_prose
    return READERS.get(os.path.splitext(path)[1], plain_prose)


def findings(pieces):
    """Yields the line and the word of each finding."""
    for first, text, _ in pieces:
        # Code in backticks is no prose. Its length stays, so that the lines are right.
        text = re.sub(r"`[^`\n]+`", lambda code: "x" * len(code[0]), text)
        for match in FORBIDDEN.finditer(text):
            yield first + text.count("\n", 0, match.start()), " ".join(match[0].split())
        for match in QUESTION_WORD.finditer(text):
            end = SENTENCE_END.search(text, match.end())
            if not end or end[0] != "?":
                yield first + text.count("\n", 0, match.start()), f"{match[0]} without a question mark"


def tracked_files(paths, skipped):
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *paths]
    names = subprocess.run(command, check=True, capture_output=True).stdout.decode().split("\0")
    for name in sorted(set(filter(None, names))):
        is_skipped = any(name == skip or name.startswith(skip.rstrip("/") + "/") for skip in skipped)
        if os.path.isfile(name) and not is_skipped:
            yield name


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--except", dest="skipped", default="")
    parser.add_argument("paths", nargs="*")
    arguments = parser.parse_args()
    allowed = Exceptions(ALLOWED)
    count = 0
    for path in tracked_files(arguments.paths, [skip for skip in arguments.skipped.split(",") if skip]):
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except UnicodeDecodeError:
            continue
        if "\0" in text:
            continue
        lines = text.split("\n")
        for line, word in sorted(findings(reader(path, text)(text))):
            if not allowed.allow(path, lines[line - 1]):
                print(f"{path}:{line}: {word}")
                count += 1
    return 1 if count else 0


sys.exit(main())
