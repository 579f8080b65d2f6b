"""How the web page looks: every page in every state, both themes and four widths, shortly before midnight, when times are
longest. No fault that axe finds, nothing wider than the window. A picture of each window is kept in build/test/pictures; with SCHEDULEARN_PICTURES=FOLDER, one of each whole page goes there."""

import hashlib
import json
import os
import sys
import unittest

from browser import Browser
from lab import Lab, until
from web_large_test import add_ended_jobs
from page import DOUBLE, LOOP, LOSSES, TOOLS, reason_to_skip

# What axe finds, by theme: a page in the dark is the same page in other colours.
SCAN = "axe.run(document, {resultTypes: ['violations'], OPTIONS}).then(r => r.violations.map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.target + ' ' + (n.any[0]?.message ?? '')).join(' | ')))"
AXE = {"light": SCAN.replace("OPTIONS", "rules: {'target-size': {enabled: true}}"), "dark": SCAN.replace("OPTIONS", "runOnly: ['color-contrast', 'link-in-text-block']")}
PICTURES = os.environ.get("SCHEDULEARN_PICTURES")  # the folder that pictures of whole pages go to, which takes three times as long
WINDOWS = TOOLS.parent / "pictures"  # those of windows
LONG = "wide-one-with-a-long-name-" + "x" * 60
SIMULATION = {"trace": {"workload": "poisson", "parameters": {"jobs": 120, "load": 1.1}}, "seeds": 2, "job_counts": [30, 60, 120], "policies": [{"name": "fifo"}, {"name": "tiresias", "parameters": {"promote_knob": [2, 8]}}]}
DIFF = b"""diff --git a/train.py b/train.py
--- a/train.py
+++ b/train.py
@@ -1,3 +1,3 @@ def main():
 import torch
-rate = 0.1
+rate = 0.01  # """ + b"a-long-word" * 40 + b"""
 model = Net()
diff --git a/notes/""" + b"long" * 40 + b""".md b/notes/""" + b"long" * 40 + b""".md
new file mode 100644
diff --git a/weights.bin b/weights.bin
Binary files a/weights.bin and b/weights.bin differ
# 2 more files differ; at most 1024 KiB of a diff are kept
"""
TOKEN = "a secret of this test, long enough"


def stored(lab, data):
    """What a snapshot names."""
    name = hashlib.sha256(data).hexdigest()
    lab.request("PUT", f"/api/v1/snapshots/{name}", data)
    return name


def busy_lab(lab):
    """Jobs in every state, servers in several. Returns the ids of some."""
    lab.start_another_agent("other", 2)
    lab.environment["LD_LIBRARY_PATH"] = DOUBLE
    lab.start_another_agent("measured", 0)
    jobs = {"running": lab.submit(LOOP, name="resnet50-ddp", gpus=4, time={"estimate": "30m"}), "measured": lab.submit(LOSSES, gpus=1)}
    lab.finished(jobs["measured"])
    jobs["failed"] = lab.submit("echo Traceback; exit 3", name="yolo", gpus=1)
    lab.finished(jobs["failed"])
    for file in lab.folder.glob(f"*/attempts/{jobs['failed']}.*/*"):
        os.utime(file, (0, 0))  # its time has a date
    for i in range(3):
        lab.submit("sleep 600", name=f"vit-large-{i}", gpus=4, time={"estimate": "20m"})
    lab.submit("sleep 600", name="later", hold=True)
    jobs["array"] = lab.submit("[ {index} != 1 ] || exit 1; sleep 600", name="lr-sweep", gpus=1, matrix={"lr": ["0.1", "0.03", "0.01"], "seed": ["1", "2"]}, time={"estimate": "5m"})
    jobs["waiting"] = lab.submit("sleep 600", name=LONG, gpus=2, time={"estimate": "5m"})
    until(lambda: lab.job(jobs["running"])["state"] == "running")
    until(lambda: lab.job(jobs["waiting"])["reason"])
    at_loads = {"trace": SIMULATION["trace"], "policies": [{"name": "fifo"}, {"name": "srtf"}], "loads": [0.5, 0.9, 1.3]}
    for wanted in (SIMULATION, {**SIMULATION, "job_counts": [10, 20], "trace": {"workload": "poisson", "parameters": {"jobs": 20}}, "servers": "1x1"}, at_loads):
        jobs["simulation"] = json.loads(lab.request("POST", "/api/v1/simulations", wanted)[2])["id"]
    until(lambda: all(each["finished_at"] for each in lab.get("/api/v1/simulations")["items"]))
    lab.request("POST", "/api/v1/servers/other/drain")
    jobs["changed"] = lab.submit("true", hold=True, snapshot={"kind": "git", "id": stored(lab, b"code"), "commit": "3f9c2e1", "dirty_files": 5, "changed": ["train.py", "weights.bin", "large.csv"], "diff": stored(lab, DIFF)})
    return jobs


def tries_policies(page):
    page.click("Compare Shortest Job First", kind="input")
    page.click("Compare EASY Backfill", kind="input")
    page.click("Try")
    page.wait_text("Differences below", 40)


def fails_alone(page):
    page.call("Network.setBlockedURLs", urls=["*/usage*"])
    page.run("document.querySelector('.tabs a').click()")
    page.run("[...document.querySelectorAll('.tabs a')].find(each => each.innerText === 'Usage').click()")
    page.wait_text("No answer")
    page.call("Network.setBlockedURLs", urls=[])


def pages_of(jobs):
    """(name, path, what is done there first)."""
    plain = {
        "overview": "", "memory": "?by=memory", "by-job": "?by=job", "jobs": "jobs", "filtered": "jobs?q=nothing", "queue": "jobs?tab=queue", "job": f"jobs/{jobs['running']}", "why": f"jobs/{jobs['waiting']}",
        "failed": f"jobs/{jobs['failed']}#L1", "measurements": f"jobs/{jobs['measured']}?tab=measurements", "timeline": f"jobs/{jobs['failed']}?tab=timeline", "files": f"jobs/{jobs['failed']}?tab=files&path=attempt", "no-files": f"jobs/{jobs['failed']}?tab=files&path=output", "spec": f"jobs/{jobs['running']}?tab=spec", "usage": f"jobs/{jobs['measured']}?tab=usage", "array": f"jobs/{jobs['array']}", "array-filtered": f"jobs/{jobs['array']}?show=succeeded", "array-usage": f"jobs/{jobs['array']}?tab=usage", "submit": "submit",
        "policy": "policy", "servers": "servers", "server": "servers/other", "events": "events", "settings": "settings", "gone": "jobs/9999", "nowhere": "no/such/page", "lab": "lab", "no-simulation": "lab/999"}
    return [(name, path, lambda page: None) for name, path in plain.items()] + [
        ("what-if", "policy", tries_policies),
        ("simulation", "lab/1", lambda page: page.wait("document.querySelectorAll('figure .uplot').length >= 4 && document.querySelector('.gantt .box') !== null && [...document.images].every(i => i.complete)")),
        ("loads", "lab/3", lambda page: (page.wait("document.querySelectorAll('figure .uplot').length >= 4"), page.wait("document.querySelector('[aria-label=\"By load\"] .uplot') !== null"))),
        ("own-trace", "lab", lambda page: (page.click("a trace of yours, once"), page.click("Simulate"), page.wait_text("[trace-columns]"))),
        ("palette", "jobs", lambda page: (page.click("Open or do"), page.call("Input.insertText", text="later"), page.wait_text("by root"))),
        ("shortcuts", "jobs", lambda page: (page.run("document.activeElement.blur()"), page.key("?"))),
        ("switch", "policy", lambda page: (page.click("Switch to Shortest Job First"), page.wait_text("It can be undone"))),
        ("drain", "servers/lab", lambda page: (page.click("Drain"), page.wait_text("runs to the end"))),
        ("cancel", f"jobs/{jobs['running']}", lambda page: (page.click("Cancel"), page.wait_text("gets TERM"))),
        ("move", "jobs?tab=queue", lambda page: (page.run("document.querySelectorAll('[aria-label$=\\' up\\']')[1].click()"), page.wait_text("It goes from place"))),
        ("array-open", "jobs", lambda page: (page.click(f"Members of job {jobs['array']}"), page.wait("document.querySelector('tr.nested') !== null"))),
        ("cancel-several", "jobs", lambda page: ([page.click(f"Choose job {each}", kind="input") for each in (jobs["array"], jobs["running"])], page.click("Cancel 1 job and 1 array"), page.wait_text("told to stop"))),
        ("tell-me", f"jobs/{jobs['waiting']}", lambda page: (page.click("Tell me when it starts or ends"), page.wait_text("You have no channel yet"))),
        ("partial", f"jobs/{jobs['measured']}?tab=usage", fails_alone),
        ("times", f"jobs/{jobs['running']}?times=since", lambda page: page.wait("document.querySelector('.line .time') !== null")),
        ("columns", "jobs", lambda page: page.click("Columns", kind="summary")),
        ("refused", "submit", lambda page: (page.fill("#command", "true"), page.fill("#gpus", "99"), page.wait_text("[gpus-unsatisfiable]"))),
        ("forecast", "submit", lambda page: (page.fill("#command", "python train.py"), page.click("Time and order", kind="summary"), page.fill("#estimate", "2h"), page.wait_text("rests on its user's estimate"))),
        ("submit-all", "submit", lambda page: page.run("document.querySelectorAll('form > details').forEach(each => each.open = true)")),
        ("lab-all", "lab", lambda page: (page.wait("document.querySelector('#w-jobs')"), page.run("document.querySelectorAll('form details').forEach(each => each.open = true)"))),
        ("settings-all", "settings", lambda page: page.run("document.querySelectorAll('details').forEach(each => each.open = true)")),
        ("add-server", "servers", lambda page: (page.click("Add a server"), page.wait_text("It appears here"))),
        ("bell", "policy", lambda page: (page.click("Notable events"), page.wait("document.querySelector('dialog[open]')?.innerText.includes('failed')"))),
        ("at-once", f"jobs/{jobs['array']}", lambda page: (page.click("Members at once"), page.fill("#at-once-wanted", "3"), page.wait_text("members at once"))),
        ("earlier", "submit", lambda page: (page.click("From an earlier job", kind="summary"), page.wait_text("resnet50-ddp"))),
        ("marked", "lab/1", lambda page: (page.wait("document.querySelectorAll('figure .uplot').length >= 4"), page.run("document.querySelector('.name[aria-pressed]').focus()"), page.wait("document.querySelector('.faded') !== null"))),
        ("strangers", "servers/measured", lambda page: page.wait_text("Used by others")),
        ("diff", f"jobs/{jobs['changed']}?tab=spec", lambda page: page.wait_text("Changed too: large.csv")),
        ("link", "settings", lambda page: (page.click("Sign in another browser"), page.wait_text("It works once"))),
    ]


# Texts of which a part is not seen, and nothing says so: no three dots, no way to scroll.
CUT_OFF = """(() => {
    const isForReaders = e => e !== null && (getComputedStyle(e).clipPath !== 'none' || isForReaders(e.parentElement));
    const isCut = e => {
        const {overflowX, textOverflow, visibility} = getComputedStyle(e);
        return ['hidden', 'clip'].includes(overflowX) && textOverflow === 'clip' && visibility === 'visible' && e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1 && e.innerText?.trim();
    };
    return [...document.querySelectorAll('body *')].filter(e => isCut(e) && !e.closest('.gantt, .uplot') && !isForReaders(e)).map(e => e.innerText.slice(0, 40));
})()"""


# The innermost elements that end outside the window, with where they end.
TOO_WIDE = """(() => {
    const over = [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 0.5);
    return over.filter(e => !over.some(other => other !== e && e.contains(other)))
        .map(e => `${e.tagName}.${e.getAttribute('class')} ${Math.round(e.getBoundingClientRect().right)} ${(e.innerText ?? '').slice(0, 40)}`).join('; ');
})()"""


def at_all_widths(page, name, theme, look=lambda width: []):
    """What is wrong at four widths with the page as it is now. A picture of each is kept."""
    faults = []
    for width in (360, 768, 1440, 2560):
        page.size(width, 900)
        page.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")  # the page has noticed
        faults += look(width)
        wide = page.run("document.documentElement.scrollWidth - innerWidth")
        if wide > 0:
            faults.append(f"{name}: {wide} px wider than {width}: {page.run(TOO_WIDE)}")
        faults += [f"{name}, {width}: cut off: {text}" for text in page.run(CUT_OFF)]
        if PICTURES:
            page.picture(f"{PICTURES}/{name}-{theme}-{width}.png")
        elif width <= 1440:
            page.picture(f"{WINDOWS}/{name}-{theme}-{width}.png", whole=False)
    return faults + (too_wide(page, name) if theme == "light" else [])


def too_wide(page, name):
    """At the widths just above those at which the layout changes."""
    faults = []
    for width in (720, 735, 1000, 1024, 1100):
        page.size(width, 900)
        page.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        wide = page.run("document.documentElement.scrollWidth - innerWidth")
        if wide > 0:
            faults.append(f"{name}: {wide} px wider than {width}: {page.run(TOO_WIDE)}")
    return faults


class CutOffTest(unittest.TestCase):
    """The check itself finds what it is for."""

    def test_a_text_that_is_cut_off_is_told(self):
        with Browser() as browser:
            page = browser.page()
            for style, told in (("overflow:hidden", ["2026-11-26 00:04:39"]), ("overflow:hidden;text-overflow:ellipsis", []), ("overflow:auto", []), ("overflow:hidden;width:300px", []), ("overflow:hidden;clip-path:inset(50%)", [])):
                page.open(f"data:text/html,<main><p style='white-space:nowrap;width:72px;{style}'>2026-11-26 00:04:39</p></main>")
                self.assertEqual(page.run(CUT_OFF), told, style)


class LooksTest(unittest.TestCase):
    def setUp(self):
        self.axe = (TOOLS / "node_modules/axe-core/axe.min.js").read_text()
        self.faults = []
        self.browser = Browser().__enter__()
        self.addCleanup(self.browser.__exit__)

    def look(self, page, name, theme):
        page.run(self.axe)

        def scan(width):
            is_due = width == 1440 or (width == 360 and theme == "light")
            return [f"{name}, {theme}, {width}: {fault}" for fault in page.run(AXE[theme])] if is_due else []

        self.faults += at_all_widths(page, name, theme, scan)

    def look_at_all(self, url, shown):
        for theme in ("light", "dark"):
            page = self.browser.page()
            page.theme(theme)
            page.clock_shows(23)
            for name, path, prepare in shown:
                page.size(1280, 900)
                page.run("['draft', 'plan'].forEach(name => localStorage.removeItem(`schedulearn.${name} /ui/`))") if page.requested else None
                page.open(f"{url}/ui/{path}")
                page.wait("!document.querySelector('.skeleton')", name)
                prepare(page)
                self.look(page, name, theme)
            self.faults += [f"left the origin: {each}" for each in page.requested if not each.startswith((url, "data:")) and each != "about:blank"]  # as data come the browser's own pictures, such as that of a calendar
            self.faults += page.complaints

    def tearDown(self):
        self.assertEqual("\n".join(self.faults), "")

    def test_every_page(self):
        with Lab() as lab:
            self.look_at_all(lab.url, pages_of(busy_lab(lab)))

    def test_nothing_and_very_much(self):
        with Lab() as lab:
            self.look_at_all(lab.url, [(f"empty-{path.partition('=')[2] or path or 'overview'}", path, lambda page: None) for path in ("", "jobs", "events", "servers", "jobs?tab=queue")])
            lab.finished(lab.submit("true", name="job-1"))
            add_ended_jobs(lab, 5000)
            self.look_at_all(lab.url, [("many-jobs", "jobs", lambda page: (page.run("document.querySelector('.tall').scrollTop = 50000"), page.wait_text("job-36")))])

    def test_no_server_no_answer_and_no_identity(self):
        lab = Lab()
        self.addCleanup(lab.__exit__)
        lab.start_controller()
        self.look_at_all(lab.url, [("no-server", "", lambda page: None), ("no-servers", "servers", lambda page: None)])
        for theme in ("light", "dark"):
            page = self.browser.page()
            page.theme(theme)
            page.clock_shows(23)
            page.open(f"{lab.url}/ui/")
            page.wait_text("Live")
            page.wait("!document.querySelector('.skeleton')")
            lab.kill(lab.controller)
            page.wait("document.querySelectorAll('.old').length >= 3 && !document.querySelector('.problem')", "that all cards are old")
            self.look(page, "stale", theme)
            page.size(1280, 900)
            page.run("document.querySelector('a[href=\"policy\"]').click()")
            page.wait_text("No answer")
            self.look(page, "no-answer", theme)
            lab.start_controller()
        lab.kill(lab.controller)
        (lab.folder / "token").write_text(TOKEN)
        lab.controller = lab._daemon("controller", "controller", "run", "--data", str(lab.folder / "controller"), "--listen", f"0.0.0.0:{lab.port}", "--token-file", str(lab.folder / "token"))
        until(lambda: lab.try_get("/readyz"), what="the controller")
        self.look_at_all(f"http://0.0.0.0:{lab.port}", [("sign-in", "jobs", lambda page: page.wait_text("Sign in"))])


if __name__ == "__main__":
    if reason := reason_to_skip():
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
