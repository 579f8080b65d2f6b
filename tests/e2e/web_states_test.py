"""Every card of a page in every state: each request of each page is refused, forbidden, withheld, not renewed and answered with nothing in turn, and the other cards stand."""

import json
import sys
import unittest

from lab import until
from web_looks_test import AXE, SIMULATION, TOOLS, at_all_widths
from page import PageTest, reason_to_skip

# Job 1 has failed, job 2 runs, job 3 waits.
PAGES = {"overview": "", "jobs": "jobs", "queue": "jobs?tab=queue", "waits": "jobs/3?tab=spec", "measurements": "jobs/2?tab=measurements", "timeline": "jobs/2?tab=timeline", "usage": "jobs/2?tab=usage", "files": "jobs/1?tab=files",
         "policy": "policy", "lab": "lab", "simulation": "lab/1", "servers": "servers", "server": "servers/lab", "events": "events", "settings": "settings"}
# Nothing of the page is missing without them: numbers in dialogs, colours, names in a list.
SILENT = {"policy": {"cluster", "queue?limit=1"}, "lab": {"cluster"}, "overview": {"jobs?state=succeeded,failed,cancelled"}}
TABS = {"measurements": "/metrics", "timeline": "/events", "files": "/files"}  # what the tab asks for; the rest of the page is that of "usage"
NO_SKELETON = {"jobs/2/explain"}  # a line of text once it is there: nothing is missing before
OF_THE_FRAME = {"events/stream": (), "announcements": ("settings",), "whoami": ("overview", "settings")}  # and the pages on which a card shows them too; elsewhere nothing is missing without them
KNOWN_ONCE = {("overview", "whoami")}  # who asks does not grow old
DETAIL, HINT, REQUEST = "this card fails for a test", "what to do about it", "4711-a"


def problem(status, code):
    return status, {"type": f"/api/docs/errors/{code}", "title": "Failed", "status": status, "detail": DETAIL, "code": code, "request_id": REQUEST, "notes": ["only the role admin may"], "hints": [{"text": HINT, "patch": None}], "errors": []}


def emptied(document):
    """The same without what it lists."""
    document = {**document, **{key: [] for key in ("items", "series", "servers", "results") if isinstance(document.get(key), list)}}
    return {**document, "total": 0} if "total" in document else document


class CardsTest(PageTest):
    def setUp(self):
        super().setUp()
        self.axe = (TOOLS / "node_modules/axe-core/axe.min.js").read_text()
        lab = self.lab
        lab.finished(lab.submit("exit 3", name="failed"))
        for name in ("runs", "waits"):
            lab.submit("sleep 600", name=name, gpus=4, time={"estimate": "10m"})
        number = json.loads(lab.request("POST", "/api/v1/simulations", SIMULATION)[2])["id"]
        until(lambda: lab.get(f"/api/v1/simulations/{number}")["finished_at"])
        self.page.theme("light")
        self.page.clock_shows(23)
        self.faults = []

    def tearDown(self):
        self.assertEqual("\n".join(self.faults), "")
        super().tearDown()

    def expect(self, holds, what):
        if not holds:
            self.faults.append(what + "\n    " + self.page.text().replace("\n", " | ")[:600])

    def each(self):
        """(page, address of one of its requests), with that page loaded once before."""
        for name, path in PAGES.items():
            self.page.intercept(None)
            self.page.call("Page.navigate", url="about:blank")  # what the page before asks for is none of its
            self.page.wait("location.href === 'about:blank'", "an empty page")
            self.page.requested.clear()
            self.page.open(f"{self.lab.url}/ui/{path}")
            self.page.wait("!document.querySelector('.skeleton')", name)
            asked = [url.partition("/api/v1/")[2] for url in self.page.requested if "/api/v1/" in url]
            self.page.browser.pump(0.3)
            known = set()
            for address in asked:
                is_of_others = name not in OF_THE_FRAME.get(address, (name,)) or TABS.get(name, "") not in address
                if is_of_others or address in known or "/logs" in address:
                    continue
                known.add(address)
                yield name, path, address

    def open_with(self, path, address, answer):
        self.page.intercept(lambda method, asked: answer if method == "GET" and asked == address else None)
        self.page.open(f"{self.lab.url}/ui/{path}")

    def others_stand(self, what, waits_for=0):
        """Nothing else is loading or refused."""
        self.page.wait(f"document.querySelectorAll('main .skeleton').length <= {waits_for}", f"{what}: the other cards")

    def is_told(self, what):
        self.page.wait("document.querySelector('.problem') !== null", f"{what}: that something is said of it")

    def look(self, what, cards):
        """What axe finds in these cards; without any, in the main part. web_looks_test.py looks at whole pages."""
        self.page.run(self.axe)
        found = f"[...document.querySelectorAll({json.dumps(cards)})].map(e => e.closest('.panel') ?? e)"
        context = f"(found => found.length > 0 ? {{include: found}} : document.querySelector('main'))({found})"
        for theme in ("light", "dark"):
            self.page.theme(theme)
            self.faults += [f"{what}, {theme}: {fault}" for fault in self.page.run(AXE[theme].replace("document", context))]
        self.page.theme("light")

    def is_silent(self, name, address):
        return any(address == silent or address.startswith(silent + "&") for silent in SILENT.get(name, ()))


class StatesTest(CardsTest):
    def test_a_refused_request_is_told_in_its_card_alone_and_can_be_repeated(self):
        page = self.page
        for name, path, address in list(self.each()):
            what = f"{name} without {address}"
            self.open_with(path, address, problem(500, "internal"))
            self.others_stand(what)
            if not self.is_silent(name, address):
                self.is_told(what)
            shown = page.run(f"[...document.querySelectorAll('.problem')].filter(each => each.innerText.includes({json.dumps(DETAIL)})).length")
            if self.is_silent(name, address):
                self.expect(shown == 0, what + ": is not silent")
                continue
            self.expect(shown >= 1, what + ": nothing is said of it")
            if shown == 0:
                continue
            for text in ("[internal]", HINT, REQUEST, "Retry"):
                self.expect(text in page.run("document.querySelector('.problem').innerText"), f"{what}: {text} is missing")
            self.expect(page.run("document.querySelector('main').innerText.length") > 100, what + ": the rest is gone too")
            self.look(what, ".problem")
            page.intercept(None)
            page.run("document.querySelectorAll('.problem button').forEach(each => each.click())")
            page.wait("!document.querySelector('.problem, .skeleton')", what + ": after Retry")
        self.is_clean()

    def test_what_is_forbidden_names_the_role(self):
        for name, path, address in list(self.each()):
            if self.is_silent(name, address):
                continue
            what = f"{name}, {address} forbidden"
            self.open_with(path, address, problem(403, "not-allowed"))
            self.others_stand(what)
            self.is_told(what)
            text = self.page.run("document.querySelector('.problem')?.innerText ?? ''")
            self.expect("Not allowed" in text and "only the role admin may" in text, what + ": " + text)
        self.is_clean()

    def test_what_is_on_its_way_is_a_skeleton_and_the_rest_is_there(self):
        page = self.page
        for name, path, address in list(self.each()):
            what = f"{name} while {address} is on its way"
            self.open_with(path, address, "withhold")
            page.wait("document.querySelector('main')?.innerText.length > 60", what)
            if not self.is_silent(name, address) and address not in NO_SKELETON:
                page.wait("[...document.querySelectorAll('main .skeleton')].some(each => getComputedStyle(each).opacity === '1' && each.innerText.includes('Loading'))", what)
            self.expect(page.run("document.querySelector('.problem') === null"), what + ": is told as a fault")
            self.look(what, "main .skeleton")
            page.let_go()
            page.wait("!document.querySelector('main .skeleton, .problem')", what + ": once it is there")
        self.is_clean()

    def test_what_cannot_be_renewed_stays_with_its_age_and_the_rest_is_new(self):
        page = self.page
        for name, path, address in list(self.each()):
            if self.is_silent(name, address) or (name, address) in KNOWN_ONCE:
                continue
            what = f"{name}, {address} old"
            page.intercept(None)
            page.open(f"{self.lab.url}/ui/{path}")
            page.wait("!document.querySelector('.skeleton') && document.querySelector('.connection').dataset.state === 'live'", what)
            page.intercept(lambda method, asked, address=address: problem(500, "internal") if method == "GET" and asked == address else None)
            page.run("window.dispatchEvent(new Event('online'))")  # a new connection: everything is read again
            page.wait("document.querySelector('.is-old, .problem') !== null", what)
            old = page.run("[...document.querySelectorAll('.old')].map(each => each.innerText)")
            self.expect(len(old) >= 1 and all("As of" in text and "ago." in text and DETAIL.capitalize() in text and "Retry" in text for text in old), f"{what}: {old}")
            self.expect(page.run("document.querySelector('.problem, .skeleton') === null"), what + ": what was there is gone")
            page.intercept(None)
            page.run("document.querySelectorAll('.old button').forEach(each => each.click())")
            page.wait("!document.querySelector('.is-old')", what + ": after Retry")
        self.is_clean()

    def test_where_there_is_nothing_it_says_so(self):
        page = self.page
        for name, path, address in list(self.each()):
            document = self.lab.get(f"/api/v1/{address}")
            if emptied(document) == document and not any(document.get(key) == [] for key in ("items", "series")):
                continue
            what = f"{name}, {address} empty"
            self.open_with(path, address, (200, emptied(document)))
            self.others_stand(what)
            self.expect(page.run("document.querySelector('.problem') === null"), what + ": is told as a fault")
            cards = page.run("[...document.querySelectorAll('main .panel')].filter(each => each.innerText.trim().length < 12 && each.offsetParent !== null && !each.querySelector('input, select, canvas')).length")
            self.expect(cards == 0, what + ": a card is left blank")
            self.look(what, "main")
        self.is_clean()


class TogetherTest(CardsTest):
    def test_all_cards_of_a_page_at_once_in_every_state(self):
        """Nothing is wider than the window, whatever all of them say. The pictures of these states are made here."""
        page = self.page

        def of_cards(address):
            return address not in OF_THE_FRAME

        answers = {
            "refused": lambda address: problem(500, "internal"), "forbidden": lambda address: problem(403, "not-allowed"), "loading": lambda address: "withhold",
            "empty": lambda address: (200, emptied(self.lab.get(f"/api/v1/{address}"))), "old": lambda address: problem(500, "internal")}
        for name, path in PAGES.items():
            for state, answer in answers.items():
                page.size(1280, 900)
                page.intercept(None)
                if state == "old":
                    page.open(f"{self.lab.url}/ui/{path}")
                    page.wait("!document.querySelector('.skeleton') && document.querySelector('.connection').dataset.state === 'live'", f"{name}, {state}")
                page.intercept(lambda method, address: answer(address) if method == "GET" and of_cards(address) else None)
                if state == "old":
                    page.run("window.dispatchEvent(new Event('online'))")
                else:
                    page.open(f"{self.lab.url}/ui/{path}")
                page.wait({"loading": "[...document.querySelectorAll('main .skeleton')].some(each => getComputedStyle(each).opacity === '1')", "empty": "!document.querySelector('main .skeleton')",
                           "old": "document.querySelector('.is-old, .old') !== null"}.get(state, "document.querySelector('.problem') !== null"), f"{name}, {state}")
                for theme in ("light", "dark"):
                    page.theme(theme)
                    self.faults += at_all_widths(page, f"state-{name}-{state}", theme)
                page.let_go()
        page.theme("light")
        self.is_clean()


if __name__ == "__main__":
    if reason := reason_to_skip():
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
