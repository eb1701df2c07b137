"""Replaces values that differ between any two runs, so that the rest can be compared byte for byte.

Each value gets a numbered placeholder by first appearance. Equal values get the same placeholder, so
that the comparison also finds a cursor that should equal another one and does not.
"""

import datetime
import re

# The server may read the clock twice for one response. Times of one request are at most so many
# milliseconds apart, and those of two requests are further apart: see Recorder.raw.
SAME_TIME = 3
REVISION = r"(\d+)(?:-(\d+))?"
CURSOR = re.compile(rf"(?<![A-Za-z0-9._-])([0-9a-f]{{8}})\.{REVISION}\.{REVISION}(?![0-9])")
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
# The month's name stays, so that languages are compared. Two runs on both sides of a month's end
# differ, which is rare.
HALF_OF_DAY = re.compile(r"\b[AaPp]\.?[Mm]\b\.?|午前|午後")

# The order matters: a cursor contains a digest, and a screen's id is twice as long as its tag.
NUMBERED = [
    ("token", re.compile(r"ls_(?:[0-9a-f]{8}_)?[A-Za-z0-9_-]{64}")),
    ("id", re.compile(UUID)),
    ("time", re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")),
    ("screen", re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")),
    ("screen-tag", re.compile(r"(?<![0-9a-f])[0-9a-f]{16}(?=\.\d)")),
    ("digest", re.compile(r"(?<![A-Za-z0-9])d[0-9a-f]{24}(?![0-9a-f])")),
]

PROSE = re.compile(r'"(detail|title|summary|description|message|explanation)":"(?:[^"\\]|\\.)*"')
PROSE_BUT_TITLE = re.compile(r'"(detail|message)":"(?:[^"\\]|\\.)*"')
PROBLEM_TITLE = re.compile(r'(\{"type":"[^"]*","title":)"(?:[^"\\]|\\.)*"')
# The title of a prompt on a screen, and the text of a screen's error.
SCREEN_TITLE = re.compile(r'("prompt":\{"id":"[^"]*","title":|"error":)"(?:[^"\\]|\\.)*"')
HELP_LINE = re.compile(r"^(# HELP \S+) .*$", re.MULTILINE)


class Normalizer:
    """Placeholders for one server's run."""

    def __init__(self, ignores_prose):
        self.ignores_prose = ignores_prose
        self.numbers = {}
        # Texts that are known to differ, such as a folder's path, with their placeholders.
        self.literals = []

    def placeholder(self, kind, value):
        known = self.numbers.setdefault(kind, {})
        if kind == "time" and value not in known:
            moment = datetime.datetime.fromisoformat(value.removesuffix("Z") + "+00:00")
            for distance in (n for size in range(1, SAME_TIME + 1) for n in (size, -size)):
                near = moment + datetime.timedelta(milliseconds=distance)
                near = near.strftime("%Y-%m-%dT%H:%M:%S.") + f"{near.microsecond // 1000:03}Z"
                if near in known:
                    known[value] = known[near]
                    break
        number = known.setdefault(value, max(known.values(), default=0) + 1)
        return f"<{kind}-{number}>"

    def text(self, text):
        for literal, replacement in self.literals:
            text = text.replace(literal, replacement)
        text = CURSOR.sub(self._cursor, text)
        for kind, pattern in NUMBERED:
            text = pattern.sub(lambda match, kind=kind: self.placeholder(kind, match[0]), text)
        text = re.sub(r"(?<=Try again in )([2-9]|\d\d+) seconds", "<seconds> seconds", text)
        text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([Z+-])", r"<time in seconds>\1", text)
        return re.sub(r'"dateAdded":"((?:[^"\\]|\\.)*)"', self._date_for_people, text)

    def body(self, text, path):
        """A body's text; path decides which members are prose and which are a user's own data."""
        if self.ignores_prose:
            text = self._without_prose(text, path)
        if path == "/v1/users":
            # The server reads the clock for the user and again for the session, and the times differ on a
            # busy machine.
            for moment in re.findall(r'"createdAt":"([^"]*)"', text)[1:]:
                first = re.search(r'"createdAt":"([^"]*)"', text)[1]
                self.placeholder("time", first)
                self.numbers["time"][moment] = self.numbers["time"][first]
        return self.text(text)

    def field(self, name, value):
        """The value of a header field."""
        lowercase = name.lower()
        if lowercase == "date" and re.fullmatch(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT", value):
            return "<date>"
        if lowercase == "x-request-id":
            return re.sub(r"^[0-9a-z]{8}-\d+-[0-9a-z]+$", "<request-id>", value)
        if lowercase == "retry-after" and value.isdigit() and int(value) > 1:
            return "<seconds>"
        if lowercase == "ratelimit":
            return re.sub(r"\bt=\d+", "t=<seconds>", value)
        return self.text(value)

    def _cursor(self, match):
        store, revision, era, registered, registered_era = match.groups()
        parts = [self.placeholder("store", store)]
        for number, its_era in ((revision, era), (registered, registered_era)):
            parts.append(number if its_era is None else f"{number}-{self.placeholder('era', its_era)}")
        return ".".join(parts)

    @staticmethod
    def _date_for_people(match):
        text = HALF_OF_DAY.sub("<half of day>", re.sub(r"\d+", "9", match[1]))
        return f'"dateAdded":"{text}"'

    @staticmethod
    def _without_prose(text, path):
        if path.startswith("/metrics"):
            return HELP_LINE.sub(r"\1 <prose>", text)
        if path.startswith(("/problems", "/openapi.json")) or path == "/v1/reactors":
            return PROSE.sub(r'"\1":"<prose>"', text)
        # Elsewhere a title may be a user's: only those of problems and of screens are prose.
        text = PROBLEM_TITLE.sub(r'\1"<prose>"', PROSE_BUT_TITLE.sub(r'"\1":"<prose>"', text))
        return SCREEN_TITLE.sub(r'\1"<prose>"', text) if path.startswith("/v1/reactors") else text
