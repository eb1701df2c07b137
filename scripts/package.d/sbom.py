"""Prints a bill of materials, SPDX 2.3 as JSON, for one file of a release.

The parts come from standard input, one a line, as tab-separated fields: the relation of the file to the part
(CONTAINS, STATIC_LINK, DEPENDS_ON), the part's name, its version, its licence as an SPDX expression or NOASSERTION, and
its package URL.
"""

import argparse
import datetime
import hashlib
import json
import re
import sys


def identifier(*words):
    return "SPDXRef-" + "-".join(re.sub(r"[^A-Za-z0-9.-]", "-", word) for word in words)


def package(name, version, licence, url):
    return {
        "SPDXID": identifier("Package", name, version),
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        "externalRefs": [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": url}
        ],
    }


def document(name, version, checksum, seconds, parts):
    """Returns the document of a file with this SHA-256 that was made at this time."""
    own = package("lockstep", version, "MIT", f"pkg:generic/lockstep@{version}")
    own |= {"packageFileName": name, "checksums": [{"algorithm": "SHA256", "checksumValue": checksum}]}
    packages, relations = [own], [("SPDXRef-DOCUMENT", "DESCRIBES", own)]
    for relation, *fields in sorted(parts):
        packages.append(package(*fields))
        relations.append((own["SPDXID"], relation, packages[-1]))
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{checksum}",
        "creationInfo": {
            "created": datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: lockstep-package"],
        },
        "packages": packages,
        "relationships": [
            {"spdxElementId": element, "relationshipType": relation, "relatedSpdxElement": other["SPDXID"]}
            for element, relation, other in relations
        ],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--version", required=True)
    parser.add_argument("--seconds", required=True, type=int, help="the time of creation, since 1970")
    options = parser.parse_args()
    with open(options.file, "rb") as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
    parts = [line.rstrip("\n").split("\t") for line in sys.stdin]
    name = options.file.rsplit("/", 1)[-1]
    print(json.dumps(document(name, options.version, checksum, options.seconds, parts), indent=1))


main()
