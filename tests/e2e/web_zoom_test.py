"""400 % of zoom: a window of 320 by 256 pixels. Everything is there, nothing has to be scrolled sideways, and what has the focus is seen."""

import sys
import unittest

from browser import Browser
from lab import Lab
from web_looks_test import busy_lab
from page import reason_to_skip

TABS = 70  # elements per page that are reached with the keyboard
# Of the element with the focus: whether it, or a part of it, is in the window and nothing lies over it.
SEEN = """(() => {
    const e = document.activeElement;
    if (!e || e === document.body) return '';
    const b = e.getBoundingClientRect();
    const name = e.tagName + ' ' + (e.getAttribute('aria-label') ?? e.innerText ?? e.id ?? '').trim().slice(0, 40);
    const left = Math.max(0, b.left), right = Math.min(innerWidth, b.right), top = Math.max(0, b.top), bottom = Math.min(innerHeight, b.bottom);
    if (right - left < 1 || bottom - top < 1) return name + ' is outside of the window';
    for (const [x, y] of [[left + 2, top + 2], [(left + right) / 2, (top + bottom) / 2], [right - 2, bottom - 2]]) {
        const over = document.elementFromPoint(x, y);
        if (over && (e.contains(over) || over.contains(e) || over.closest('label')?.control === e)) return '';
    }
    return name + ' is covered by ' + document.elementFromPoint((left + right) / 2, (top + bottom) / 2)?.className;
})()"""


class SeenTest(unittest.TestCase):
    """The check itself finds what it is for."""

    def test_what_is_covered_or_outside_is_told_and_what_is_seen_in_part_is_not(self):
        with Browser() as browser:
            page = browser.page(320, 256)
            page.open("data:text/html,<main style='height:2000px'><button style='position:absolute;top:100px;width:100px;height:40px'>Save</button><div class=bar style='position:fixed;left:0;width:100vw;background:gold'></div></main>")
            page.run("document.querySelector('button').focus()")
            for top, height, said in ((0, 100, ""), (90, 30, ""), (90, 60, "BUTTON Save is covered by bar"), (300, 10, "")):
                page.run(f"Object.assign(document.querySelector('.bar').style, {{top: '{top}px', height: '{height}px'}})")
                self.assertEqual(page.run(SEEN), said, (top, height))
            page.run("scrollTo(0, 400)")
            self.assertEqual(page.run(SEEN), "BUTTON Save is outside of the window")


class ZoomTest(unittest.TestCase):
    def test_every_page_at_400_percent(self):
        faults = []
        with Lab() as lab, Browser() as browser:
            jobs = busy_lab(lab)
            page = browser.page(320, 256)
            page.theme("light")
            page.clock_shows(23)
            paths = ["", "?by=user", "jobs", "jobs?tab=queue", f"jobs/{jobs['running']}", f"jobs/{jobs['waiting']}", f"jobs/{jobs['failed']}?tab=timeline", f"jobs/{jobs['running']}?tab=spec",
                     f"jobs/{jobs['measured']}?tab=measurements", f"jobs/{jobs['failed']}?tab=files&path=attempt", "submit", "policy", "lab", "lab/1", "servers", "servers/lab", "events", "settings", "no/such/page"]
            for path in paths:
                page.open(f"{lab.url}/ui/{path}")
                page.wait("!document.querySelector('.skeleton')", path)
                wide = page.run("document.documentElement.scrollWidth")
                if wide > 320:
                    faults.append(f"{path}: {wide} pixels wide")
                faults += [f"{path}: {name} stays over the page" for name in page.run("[...document.querySelectorAll('body *')].filter(e => getComputedStyle(e).position === 'fixed' && e.checkVisibility({visibilityProperty: true})).map(e => e.tagName)")]
                for _ in range(TABS):
                    page.key("Tab")
                    fault = page.run(SEEN)
                    if fault and f"{path}: {fault}" not in faults:
                        faults.append(f"{path}: {fault}")
                    if page.run("document.activeElement === document.body"):
                        break
            faults += page.complaints
        self.assertEqual("\n".join(faults), "")


if __name__ == "__main__":
    if reason := reason_to_skip():
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
