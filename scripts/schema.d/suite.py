"""Runs the groups of JSON-Schema-Test-Suite that use only supported keywords; see scripts/schema --help."""

import collections
import json
import pathlib
import re
import sys

import checker

# Why the server refuses a valid schema: a pattern for the detail of a fault, and the reason.
REASONS = [
    (r'The keyword ("[^"]*") is not supported\.', r"the keyword \1"),
    (r"The keyword .* is unknown\. Check its name\.", "an unknown keyword"),
    (r"It must be a string of the form", "a $ref to something else than an entry of $defs"),
    (r"It is allowed only at the root of the schema\.", "$defs or $schema below the root"),
    (r"It must be date-time, date, email, uri or uuid\.", "another format"),
    (r'It must be "https://json-schema\.org/draft/2020-12/schema"\.', "another $schema"),
]
# Beside a refused $defs, a $ref to its entry leads nowhere.
CONSEQUENCE = "The schema has no such entry in $defs."
FORMATS = ["date-time", "date", "email", "uri", "uuid"]


def reason(response):
    """Why a schema was refused. None if a fault has no known reason."""
    if "parsing" in response:
        return "a number that does not fit into 64 bits" if "64 bits" in response["parsing"] else None
    found = []
    for fault in response["schema"]:
        if fault["detail"] == CONSEQUENCE:
            continue
        match = next(((m, text) for pattern, text in REASONS if (m := re.match(pattern, fault["detail"]))), None)
        if match is None:
            return None
        found.append(match[0].expand(match[1]))
    return found[0] if found else None


def groups(folder):
    """Each group with the name of its file."""
    files = sorted(folder.glob("*.json")) + sorted(folder.glob("optional/*.json"))
    files += [folder / "optional" / "format" / f"{name}.json" for name in FORMATS]
    for file in files:
        for group in json.loads(file.read_text("utf-8")):
            yield str(file.relative_to(folder)), group


def main():
    program, folder, deviations = sys.argv[1], pathlib.Path(sys.argv[2]), json.load(open(sys.argv[3], encoding="utf-8"))
    accepted = {(item["file"], item["group"], item["test"]): item["reason"] for item in deviations}
    skipped, run, passed, wrong, unused = collections.Counter(), 0, 0, [], set(accepted)
    cases = list(groups(folder))
    responses = checker.check(program, [(g["schema"], [t["data"] for t in g["tests"]]) for _, g in cases])
    for (file, group), response in zip(cases, responses):
        if "values" not in response:
            why = reason(response)
            if why is None:
                wrong.append(f"{file}: {group['description']}: refused: {response}")
            else:
                skipped[why] += 1
            continue
        run += 1
        for test, faults in zip(group["tests"], response["values"]):
            key = (file, group["description"], test["description"])
            if (not faults) == test["valid"]:
                passed += 1
            elif key in accepted:
                unused.discard(key)
                print(f"deviation: {' / '.join(key)}: {accepted[key]}")
            else:
                wrong.append(f"{' / '.join(key)}: expected {test['valid']}: {faults}")
    print(f"{passed} tests in {run} groups passed; {sum(skipped.values())} groups skipped because of")
    for why, count in skipped.most_common():
        print(f"{count:6} {why}")
    wrong += [f"not a deviation any more: {' / '.join(key)}" for key in sorted(unused)]
    if wrong:
        raise SystemExit("\n".join(["disagreements:"] + wrong))


main()
