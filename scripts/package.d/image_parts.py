"""Prints the packages of Debian in an image, an OCI archive, as lines for sbom.py.

They are in dpkg's database, and in the files of /var/lib/dpkg/status.d, which the Dockerfile writes.
"""

import email.parser
import io
import json
import sys
import tarfile
import urllib.parse


def statuses(archive):
    """Returns the texts in dpkg's format, by path, as the topmost layer with the path has them."""
    with tarfile.open(archive) as image:
        blob = lambda digest: image.extractfile("blobs/" + digest.replace(":", "/")).read()
        manifest = json.loads(image.extractfile("index.json").read())
        while "layers" not in manifest:
            manifest = json.loads(blob(manifest["manifests"][0]["digest"]))
        found = {}
        for layer in manifest["layers"]:
            with tarfile.open(fileobj=io.BytesIO(blob(layer["digest"]))) as files:
                for file in files:
                    path = file.name.removeprefix("./")
                    if file.isfile() and (path == "var/lib/dpkg/status" or path.startswith("var/lib/dpkg/status.d/")):
                        found[path] = files.extractfile(file).read().decode()
    return found


def main():
    packages = set()
    for text in statuses(sys.argv[1]).values():
        for paragraph in text.split("\n\n"):
            fields = email.parser.HeaderParser().parsestr(paragraph)
            if "installed" in (fields["Status"] or ""):
                packages.add((fields["Package"], fields["Version"], fields["Architecture"]))
    if not packages:
        sys.exit(f"{sys.argv[1]}: no package of Debian")
    for name, version, architecture in sorted(packages):
        url = f"pkg:deb/debian/{urllib.parse.quote(name)}@{urllib.parse.quote(version)}"
        print("CONTAINS", name, version, "NOASSERTION", f"{url}?arch={architecture}&distro=debian-12", sep="\t")


main()
