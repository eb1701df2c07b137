"""The settings of Sphinx for the documentation site, which scripts/docs makes."""

import re
from pathlib import Path

from docutils import nodes
from pygments.lexers.special import TextLexer

ROOT = Path(__file__).resolve().parents[2]

project = "Lockstep"
release = re.search(r'lockstepVersion = "(.+)"', (ROOT / "Sources/LockstepHTTP/Version.swift").read_text())[1]
html_title = f"Lockstep {release}"

# The sources are the files of the repository, so that their links are those that GitHub shows.
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/**.md"]
# Links to headings have the anchors of GitHub.
myst_heading_anchors = 6

# Pygments does not know all of Swift. It marks up such code nevertheless.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_theme_options = {"source_edit_link": "", "source_view_link": ""}
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
# The summaries are requests, which browsers refuse for pages from a folder.
html_show_search_summary = False
html_permalinks_icon = "#"


def index_sections():
    """Returns the sections of docs/index.md, each with the pages that it is the first to link to."""
    sections, seen = [("Start", ["docs/index"])], {"docs/index"}
    for line in re.sub(r"\n +", " ", (ROOT / "docs/index.md").read_text()).splitlines():
        if line.startswith("## "):
            sections.append((line[3:], []))
        for link in re.findall(r"\]\(([^)#]+)\.md\)", line):
            page = (ROOT / "docs" / link).resolve().relative_to(ROOT).as_posix()
            if page not in seen:
                seen.add(page)
                sections[-1][1].append(page)
    return [(caption, pages) for caption, pages in sections if pages]


def add_to_source(app, name, source):
    """Adds the navigation to the start page, and the links to the DocC archives to the index."""
    if name == root_doc:
        for caption, pages in index_sections():
            source[0] += "\n```{toctree}\n:hidden:\n:caption: %s\n\n%s\n```\n" % (caption, "\n".join(pages))
    if name == "docs/index" and app.tags.has("archives"):
        source[0] += "\n## Reference of the libraries\n\nTo read these pages, serve the folder with a web server.\n\n"
        for folder in sorted(ROOT.glob("Sources/*/*.docc")):
            start = f"../reference/{folder.stem}/documentation/{folder.stem.lower()}/"
            source[0] += f'- <a href="{start}">{folder.stem}</a>\n'


def show_folders_as_text(app, document):
    """Makes text of each link to a folder of the repository, because the site has no page for it."""
    folder = Path(document["source"]).parent
    for link in list(document.findall(lambda node: isinstance(node, nodes.Element) and "reftarget" in node)):
        if (folder / link["reftarget"]).is_dir():
            link.replace_self(nodes.inline("", "", *link.children))


def setup(app):
    # Pygments has no lexers for these.
    for language in ["caddyfile", "haproxy", "mermaid"]:
        app.add_lexer(language, TextLexer)
    app.connect("source-read", add_to_source)
    app.connect("doctree-read", show_folders_as_text)
    return {"parallel_read_safe": True}
