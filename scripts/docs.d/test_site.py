"""Reads the documentation site in LOCKSTEP_SITE with Chromium, from its folder."""

import os
import re
import unittest
import urllib.parse
from html.parser import HTMLParser
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

SITE = Path(os.environ["LOCKSTEP_SITE"])
SCREENSHOTS = os.environ.get("LOCKSTEP_SCREENSHOTS")


class Page(HTMLParser):
    """The identifiers, links and files that a page's HTML names."""

    def __init__(self, file):
        super().__init__()
        self.identifiers, self.links, self.files, self.next = {""}, [], [], None
        self.feed(file.read_text())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.identifiers.add(attributes.get("id"))
        if "src" in attributes:
            self.files.append(attributes["src"])
        if tag == "link":
            self.files.append(attributes["href"])
            if attributes["rel"] == "next":
                self.next = attributes["href"]
        elif "href" in attributes:
            self.links.append(attributes["href"])


class FilesTest(unittest.TestCase):
    """Reads the HTML itself, without a browser."""

    pages = {file: Page(file) for file in SITE.rglob("*.html") if SITE / "reference" not in file.parents}

    def target(self, file, link):
        path, _, anchor = re.sub(r"\?[^#]*", "", link).partition("#")
        return (file.parent / urllib.parse.unquote(path)).resolve() if path else file, anchor

    def test_every_link_leads_somewhere(self):
        self.assertGreater(len(self.pages), 30)
        for file, page in self.pages.items():
            for link in page.links + page.files:
                if link.startswith(("https://", "http://", "data:")):
                    continue
                target, anchor = self.target(file, link)
                self.assertTrue(target.exists(), f"{file}: {link}")
                if target in self.pages:
                    self.assertIn(anchor, self.pages[target].identifiers, f"{file}: {link}")

    def test_no_page_loads_a_file_from_another_host(self):
        for file, page in self.pages.items():
            for link in page.files:
                self.assertNotIn("//", link, file)

    def test_the_links_to_the_next_page_lead_through_all_pages(self):
        seen, file = [], SITE / "index.html"
        while True:
            self.assertNotIn(file, seen)
            seen.append(file)
            if not self.pages[file].next:
                break
            file, _ = self.target(file, self.pages[file].next)
        others = {"README.html", "genindex.html", "search.html"}
        self.assertEqual({page.name for page in self.pages if page not in seen}, others)


class ChromiumTest(unittest.TestCase):
    """Reads pages as a person does. A test fails if a page logs a message or sends a request to a host."""

    @classmethod
    def setUpClass(cls):
        cls.playwright = cls.enterClassContext(sync_playwright())
        cls.browser = cls.enterClassContext(cls.playwright.chromium.launch(executable_path=os.environ["CHROMIUM"]))

    def open(self, name="index.html", **options):
        context = self.browser.new_context(**options)
        self.addCleanup(context.close)
        context.set_default_timeout(5_000)
        messages = []
        context.on("console", lambda message: messages.append(message.text))
        context.on("weberror", lambda error: messages.append(str(error.error)))
        context.on("request", lambda request: request.url.startswith(("file:", "data:")) or messages.append(request.url))
        self.addCleanup(lambda: self.assertEqual(messages, []))
        page = context.new_page()
        page.goto(f"{SITE.as_uri()}/{name}")
        return page

    def shoot(self, page, name):
        if SCREENSHOTS:
            page.screenshot(path=f"{SCREENSHOTS}/docs-{name}.png")

    def test_a_reader_searches_for_a_word_and_opens_the_page(self):
        page = self.open()
        page.get_by_placeholder("Search").fill("haproxy")
        page.keyboard.press("Enter")
        results = page.locator("#search-results li")
        expect(results.first).to_be_visible()
        self.shoot(page, "search")
        results.get_by_role("link", name="Deploying > HAProxy").click()
        expect(page.get_by_role("heading", name="HAProxy")).to_be_in_viewport()
        self.assertIn("/docs/deploying.html", page.url)

    def test_a_reader_goes_to_the_next_page(self):
        page = self.open()
        for name in ["Lockstep documentation", "Quickstart", "Concepts"]:
            page.locator("a.next-page").click()
            expect(page.get_by_role("heading", level=1)).to_contain_text(name)

    def test_pages_can_be_read_without_javascript(self):
        page = self.open(java_script_enabled=False)
        page.locator(".sidebar-tree").get_by_role("link", name="Deploying").click()
        expect(page.get_by_role("heading", name="HAProxy")).to_be_attached()
        expect(page.get_by_text("A deployment is one process")).to_be_visible()

    def test_pages_are_light_or_dark_and_fit_a_phone(self):
        for scheme, bright in [("light", True), ("dark", False)]:
            for width, name in [(1280, "wide"), (320, "phone")]:
                page = self.open(
                    "docs/deploying.html", color_scheme=scheme, viewport={"width": width, "height": 800}
                )
                self.shoot(page, f"{scheme}-{name}")
                colour = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
                self.assertEqual(sum(colour) > 382, bright, colour)
                self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width)


if __name__ == "__main__":
    unittest.main(verbosity=2)
