"""The web page steers: policies are tried and switched, servers join and leave, keys and the palette do everything."""

import http.server
import json
import sys
import threading
import unittest

from lab import until
from page import PageTest, reason_to_skip


class WhatIfTest(PageTest):
    def test_policies_are_compared_side_by_side_switched_and_gone_back(self):
        lab, page = self.lab, self.page
        lab.submit("sleep 600", name="holds", gpus=4, time={"estimate": "10m"})
        long = lab.submit("sleep 600", name="long", gpus=4, time={"estimate": "5h"})
        short = lab.submit("sleep 600", name="short", gpus=4, time={"estimate": "1m"})
        until(lambda: lab.job(short)["state"] == "pending")
        self.open("policy")
        page.wait_text("Tick compare at up to four policies")
        page.click("Compare Shortest Job First", kind="input")
        page.click("Compare Round Robin", kind="input")
        page.click("Try")
        page.wait_text("Differences below", 40)
        rows = page.run("[...document.querySelectorAll('#what-if, table')].length")
        self.assertGreaterEqual(rows, 3)
        self.assertEqual(page.run("[...document.querySelectorAll('tbody th[scope=row]')].slice(0, 3).map(e => e.innerText.split('\\n')[0])"), ["FIFO", "Shortest Job First", "Round Robin"])
        sjf = page.run("[...document.querySelectorAll('tbody tr')].find(e => e.innerText.startsWith('Shortest Job First')).innerText")
        self.assertRegex(sjf, r"\d+ % less")  # the short one need not wait for the long one
        moved = page.run(f"[...document.querySelectorAll('tbody tr')].find(e => !e.closest('details') && e.querySelector('a')?.getAttribute('href') === 'jobs/{short}').innerText")
        self.assertIn("earlier", moved)
        self.assertIn("later", page.run(f"[...document.querySelectorAll('tbody tr')].find(e => !e.closest('details') && e.querySelector('a')?.getAttribute('href') === 'jobs/{long}').innerText"))
        self.assertEqual(lab.get("/api/v1/policy")["name"], "fifo")  # nothing was changed by that
        self.schedules(short, long)
        page.click("Switch to Shortest Job First after this comparison")
        page.wait_text("would end earlier and", 40)  # my jobs, old and new
        page.wait_text("2 jobs in line are put in a new order at once.")
        page.click("Switch", kind="dialog button")
        until(lambda: lab.get("/api/v1/policy")["name"] == "sjf", what="the switch")
        page.wait("[...document.querySelectorAll('button')].some(e => e.ariaLabel?.startsWith('Return to fifo'))", "the history")
        page.run("[...document.querySelectorAll('button')].find(e => e.ariaLabel?.startsWith('Return to fifo')).click()")
        page.wait_text("Switch to FIFO?")
        page.click("Switch", kind="dialog button")
        until(lambda: lab.get("/api/v1/policy")["name"] == "fifo", what="the way back")
        self.is_clean()

    def schedules(self, short, long):
        """Charts of the three policies: one axis, the same colour for a job in all, and what is pointed at in one is marked in all."""
        page = self.page
        page.wait("document.querySelectorAll('.gantt').length === 3", "three charts")
        axes = page.run("[...document.querySelectorAll('.gantt .axis')].map(e => e.innerText.replace(/\\s+/g, ' '))")
        self.assertEqual(len(set(axes)), 1)
        boxes = page.run("[...document.querySelectorAll('.gantt')].map(e => [...e.querySelectorAll('.box')].map(b => [b.innerText, getComputedStyle(b).borderTopColor, parseFloat(b.style.left), parseFloat(b.style.width)]))")
        colours = {}
        for chart in boxes:
            for job, colour, _, _ in chart:
                if job:
                    self.assertEqual(colours.setdefault(job, colour), colour)
        long_at = [next(left for job, _, left, _ in chart if job == str(long)) for chart in boxes]
        self.assertGreater(long_at[1], long_at[0])  # under Shortest Job First it starts after the short one
        page.run("document.querySelector('.gantt .field').focus()")
        page.key("End")
        marked = page.run("[...document.querySelectorAll('.gantt')].map(e => [...new Set([...e.querySelectorAll('.box.same')].map(b => b.dataset.job))])")
        self.assertEqual(len(marked), 3)
        self.assertTrue(all(each == marked[0] and len(each) == 1 for each in marked), marked)
        rows = page.run(f"[...document.querySelectorAll('details table tr')].find(e => e.querySelector('a[href=\"jobs/{short}\"]')).textContent")
        self.assertIn("lab:0-3", rows)

    def test_a_switch_can_be_planned_seen_replaced_and_called_off_and_happens(self):
        lab, page = self.lab, self.page
        self.open("policy")
        page.click("Switch to Shortest Job First")
        page.click("later", kind="dialog label")
        page.wait("document.querySelector('#later').value !== ''")
        page.wait_text("--at 20")
        page.click("Plan it")
        page.wait_text("Shortest Job First takes over at")
        planned = lab.get("/api/v1/policy")["planned"]
        self.assertEqual(planned["name"], "sjf")
        self.assertIn("sjf from", lab.cli("status").stdout)
        self.assertRegex(lab.cli("policy", "show").stdout, "Until .* when sjf takes over")
        lab.kill(lab.controller)
        lab.start_controller()
        self.open("policy")
        page.wait_text("Shortest Job First takes over at")
        self.assertEqual(lab.get("/api/v1/policy")["planned"], planned)
        page.click("Call it off")
        page.wait_text("Nothing changes at")
        page.click("Call it off", kind="dialog button")
        page.wait("!document.body.innerText.includes('takes over at')", "no plan")
        refused = lab.cli("policy", "set", "--call-off", check=False)
        self.assertIn("[nothing-planned]", refused.stderr)
        self.assertIn("[bad-time]", lab.cli("policy", "set", "srtf", "--at", "2020-01-01T00:00:00Z", check=False).stderr)
        self.assertIn("takes over from fifo at", lab.cli("policy", "set", "srtf", "--at", "2s").stdout)
        until(lambda: lab.get("/api/v1/policy")["name"] == "srtf", what="the planned switch")
        page.wait("document.querySelector('.name').innerText === 'srtf'")
        kinds = [event["kind"] for event in lab.get("/api/v1/events?limit=1000")["items"] if event["kind"].startswith("policy.")]
        self.assertEqual(kinds, ["policy.planned", "policy.called_off", "policy.planned", "policy.changed"])
        page.click("Back to fifo")
        page.click("Go back", kind="dialog button")
        until(lambda: lab.get("/api/v1/policy")["name"] == "fifo", what="the way back")
        self.is_clean()

    def test_a_switch_counts_the_jobs_in_line_and_says_of_how_many_it_tells(self):
        lab, page = self.lab, self.page
        lab.submit("sleep 600", gpus=4, time={"estimate": "10m"})
        lab.submit("true", gpus=1, array="0-3", time={"estimate": "1m"})
        lab.submit("true", gpus=1, hold=True)
        lab.submit("true", gpus=0, hold=True)
        until(lambda: lab.get("/api/v1/queue?grouped=true")["items"][0]["in_line"] == 4, what="the line")

        def tried(method, address):  # as if the user had more jobs here than the answer lists
            return (200, {**json.loads(lab.request("POST", "/api/v1/policy/try", {"policies": [{"name": "sjf"}]})[2]), "jobs_total": 443}) if address == "policy/try" else None

        page.intercept(tried)
        self.open("policy")
        page.click("Switch to Shortest Job First")
        page.wait_text("4 jobs in line are put in a new order")
        page.wait("/(Of y|Y)our first \\d of 443 jobs/.test(document.querySelector('dialog[open]').innerText)", "of how many it tells")
        self.is_clean()

    def test_on_a_phone_what_is_ticked_can_be_compared_from_where_one_is(self):
        page = self.page
        self.lab.submit("sleep 600", gpus=4, time={"estimate": "10m"})
        page.size(360, 780)
        self.open("policy")
        page.click("Compare Shortest Job First", kind="input")
        bar = "document.querySelector('.ticked').getBoundingClientRect()"
        page.run("window.scrollTo(0, document.documentElement.scrollHeight / 2)")
        page.wait(f"{bar}.bottom <= innerHeight - 50 && {bar}.top > 0", "the bar above the navigation")
        page.click("Compare it now")
        page.wait_text("Differences below", 40)
        page.wait("Math.abs(document.getElementById('what-if').getBoundingClientRect().top) < 300", "the comparison in view")
        self.is_clean()

    def test_no_more_than_four_are_compared(self):
        page = self.page
        self.open("policy")
        for name in ("FIFO First Fit", "EASY Backfill", "Round Robin", "Shortest Job First"):
            page.click(f"Compare {name}", kind="input")
        page.wait("document.querySelector('input[aria-label=\"Compare Elastic FIFO\"]').disabled")
        page.click("Do not compare Round Robin")
        page.wait("!document.querySelector('input[aria-label=\"Compare Elastic FIFO\"]').disabled")
        self.open("policy?compare=sjf,srtf")
        page.click("Do not compare Shortest Remaining Time First")
        page.wait("location.search === '?compare=sjf'", "the other one in the address")
        self.open("login")
        page.wait_text("Who you are")
        self.is_clean()


class KeysTest(PageTest):
    def palette(self, text, wanted):
        page = self.page
        page.wait("document.querySelector('dialog[open]') === null", "the dialog before to close")
        page.call("Input.dispatchKeyEvent", type="keyDown", key="k", modifiers=2, windowsVirtualKeyCode=75)
        page.call("Input.dispatchKeyEvent", type="keyUp", key="k", modifiers=2, windowsVirtualKeyCode=75)
        page.wait("document.activeElement.matches('dialog[open] input')", "the palette")
        page.call("Input.insertText", text=text)
        page.wait(f"document.querySelector('[role=option][aria-selected=true]')?.innerText.includes({wanted!r})", f"the entry {wanted}")
        page.key("Enter")
        page.wait("document.querySelector('dialog[aria-label=\"Command palette\"][open]') === null")

    def test_the_palette_opens_and_does_everything(self):
        lab, page = self.lab, self.page
        job = lab.submit("sleep 600", name="nightly")
        until(lambda: lab.job(job)["state"] == "running")
        self.open()
        page.run("document.activeElement.blur()")
        self.palette("nightly", f"Job {job} nightly, running")
        page.wait(f"location.pathname === '/ui/jobs/{job}'")
        page.wait_text("Specification")
        self.palette("cancel", "Cancel: job")
        page.wait_text("gets TERM")
        page.click("Cancel the job", kind="dialog button")
        self.assertEqual(lab.finished(job)["state"], "cancelled")
        self.palette("server lab", "Server lab")
        page.wait("location.pathname === '/ui/servers/lab'")
        self.palette("theme", "Theme")
        page.wait("document.documentElement.dataset.theme === 'light' && localStorage['schedulearn.theme'] === 'light'")
        self.palette("settings", "Settings")
        page.wait("location.pathname === '/ui/settings'")
        self.palette(str(job), f"Job {job}")
        page.wait(f"location.pathname === '/ui/jobs/{job}'")
        self.is_clean()

    def test_a_whole_journey_without_a_mouse(self):
        """Submit, watch, look why another waits, cancel both: with keys alone."""
        lab, page = self.lab, self.page
        self.open()
        page.key("c")
        page.wait("location.pathname === '/ui/submit' && document.querySelector('#command')")
        self.tab_to("#command")
        page.call("Input.insertText", text="echo from the keyboard; sleep 600")
        self.tab_to("#gpus")
        page.run("document.activeElement.select()")
        page.call("Input.insertText", text="4")
        page.wait_text("The controller would accept it.")
        self.tab_to("form button.primary")
        page.key("Enter")
        page.wait("location.pathname === '/ui/jobs/1'")
        page.wait_text("from the keyboard")
        page.key("t")
        page.wait_text("Steps")
        page.key("l")
        page.wait_text("from the keyboard")
        lab.submit("true", name="behind", gpus=4)
        page.key("g", "j")
        page.wait_text("behind")
        page.key("j", "Enter")
        page.wait_text("Why it waits")
        page.key("g", "j")
        page.wait_text("2 jobs")
        page.key("j", "x", "j", "x")
        page.wait_text("Cancel 2 jobs")
        self.tab_to("button.danger", shift=True)
        page.key("Enter")
        page.wait_text("Cancel them")
        self.tab_to("dialog[open] button.danger")
        page.key("Enter")
        for job in (1, 2):
            self.assertEqual(lab.finished(job)["state"], "cancelled")
        self.is_clean()

    def test_a_bulk_action_goes_on_past_jobs_that_have_ended_or_refuse_it(self):
        lab, page = self.lab, self.page
        first, ends, last = (lab.submit("sleep 600", name=f"bulk-{i}", gpus=1) for i in range(3))
        until(lambda: all(lab.job(job)["state"] == "running" for job in (first, ends, last)))
        self.open("jobs")
        page.wait_text("3 jobs")
        page.click("Choose all 3", kind="input")
        page.click("Priority of 3 jobs")
        page.fill("#bulk-priority", "")
        page.key("Backspace")
        page.wait_text("write a whole number")
        self.assertTrue(page.run("document.querySelector('dialog .primary').disabled"))
        page.click("Not now")
        page.click("Suspend 3 jobs")
        page.click("Suspend them", kind="dialog button")
        page.wait_text("3 of 3 jobs were refused")  # they have no checkpoints
        page.wait_text(f"{last} bulk-2: job {last} can neither be stopped at a checkpoint nor frozen")
        page.click("Not now")
        page.click("Choose job %d" % first, kind="input")  # not this one
        page.wait("document.querySelector('th input').indeterminate", "that only some are chosen")
        page.click("Cancel 2 jobs")
        page.wait_text("Cancel them")
        lab.request("POST", f"/api/v1/jobs/{ends}/cancel")
        lab.finished(ends)
        page.click("Cancel them", kind="dialog button")
        self.assertEqual(lab.finished(last)["state"], "cancelled")
        page.wait("!document.querySelector('dialog[open]')", "the end of the dialog")
        self.assertEqual(lab.job(first)["state"], "running")

    def test_addresses_are_understood_and_never_become_commands(self):
        lab, page = self.lab, self.page
        lab.submit("sleep 600", name="sweep", gpus=4, array="0-3")
        member = until(lambda: next((job["id"] for job in lab.jobs() if job.get("index") == 2), None), what="a member")
        self.open("jobs/1_2?tab=spec")
        page.wait(f"location.pathname + location.search === '/ui/jobs/{member}?tab=spec'", "the page of the member itself")
        for tab in ("measurements", "files"):  # it has not run: it has neither
            self.open(f"jobs/{member}?tab={tab}")
            page.wait_text("No output yet: the job has not started.")
            self.assertEqual(page.run("document.querySelector('section .tabs [aria-current]').innerText"), "Log")
            self.assertNotIn("Not found", page.text())
        self.open("servers/a%3Btouch%20x")
        page.wait("document.querySelector('#same-command').innerText === \"schedulearn servers show 'a;touch x'\"")
        self.open("policy?compare=a%3Bid,sjf%20%7Cid")
        page.wait_text("schedulearn policy try 'a;id' 'sjf |id'")

    def tab_to(self, selector, shift=False):
        page = self.page
        for _ in range(80):
            if page.run(f"document.activeElement.matches({selector!r})"):
                return
            page.call("Input.dispatchKeyEvent", type="keyDown", key="Tab", windowsVirtualKeyCode=9, modifiers=8 if shift else 0)
            page.call("Input.dispatchKeyEvent", type="keyUp", key="Tab", windowsVirtualKeyCode=9, modifiers=8 if shift else 0)
        self.fail(f"the keyboard does not get to {selector}")

    def test_a_key_copies_the_equal_command(self):
        page = self.page
        self.page.browser.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"], origin=self.lab.url)
        job = self.lab.submit("true", name="copied")
        self.open(f"jobs/{job}")
        page.wait_text("copied")
        page.key(".")
        page.wait_text(f"copied: schedulearn logs -f {job}")
        self.assertEqual(page.run("navigator.clipboard.readText()"), f"schedulearn logs -f {job}")
        page.key("g", "p")
        page.wait_text("All policies")
        page.key(".")
        page.wait_text("copied: schedulearn policy ls")
        self.is_clean()

    def set_key(self, name, key):
        page = self.page
        page.run(f"(e => {{ const field = document.getElementById(e.htmlFor); field.value = {key!r}; field.dispatchEvent(new Event('change', {{bubbles: true}})); }})([...document.querySelectorAll('#shortcuts label')].find(e => e.innerText === {name!r}))")

    def test_keys_can_be_changed_turned_off_and_put_back_and_conflicts_are_refused(self):
        page = self.page
        self.open("settings")
        page.wait_text("Keyboard shortcuts")
        self.set_key("Submit a job", "x")
        page.wait_text("x is “Choose the job” in tables of jobs.")
        self.set_key("Submit a job", "g")
        page.wait_text("g begins another shortcut")
        self.set_key("Submit a job", "q")
        page.wait_text("“Submit a job” is q now.")
        self.set_key("Jobs", "")
        page.wait_text("“Jobs” has no key now.")
        self.set_key("Servers", "g j")  # it is free now
        page.wait_text("“Servers” is g j now.")
        page.run("document.activeElement.blur()")
        page.key("?")
        page.wait("document.querySelector('dialog[open]')?.innerText.includes('Submit a job')")
        listed = page.run("[...document.querySelectorAll('dialog[open] dt')].map(e => [...e.querySelectorAll('kbd')].map(k => k.innerText).join(' ') + ': ' + e.nextElementSibling.innerText)")
        self.assertIn("q: Submit a job", listed)
        self.assertIn("g j: Servers", listed)
        self.assertFalse([each for each in listed if each.endswith(": Jobs") or each.startswith("c:")])
        page.key("Escape")
        page.wait("document.querySelector('dialog[open]') === null")
        page.key("c")
        page.key("g", "j")
        page.wait("location.pathname === '/ui/servers'")
        page.run("document.activeElement.blur()")
        page.key("q")
        page.wait("location.pathname === '/ui/submit' && document.querySelector('#command')")
        page.click_at("#command")
        page.key("q")
        page.wait("document.querySelector('#command').value === 'q'", "typing to be typing")
        self.open("settings")  # a new document: this browser remembers
        page.wait("[...document.querySelectorAll('#shortcuts input')].some(e => e.value === 'q')")
        page.click("Put all back")
        page.wait_text("All keys are as they were at first.")
        page.run("document.activeElement.blur()")
        page.key("c")
        page.wait("location.pathname === '/ui/submit'")
        self.is_clean()

    def test_every_key_of_every_page_is_in_the_settings(self):
        lab, page = self.lab, self.page
        job = lab.submit("echo first; sleep 600", name="has-keys", gpus=4)
        waiting = lab.submit("true", name="waits", gpus=4)
        until(lambda: lab.job(job)["state"] == "running")
        self.open("settings")
        page.wait_text("Keyboard shortcuts")
        known = set(page.run("[...document.querySelectorAll('#shortcuts li input')].map(e => e.value)"))
        for path in ("", "jobs", "jobs?tab=queue", f"jobs/{job}", f"jobs/{waiting}", "submit", "policy", "lab", "servers", "servers/lab", "events", "settings"):
            self.open(path)
            page.wait("!document.querySelector('.skeleton')")
            page.run("document.activeElement.blur()")
            page.key("?")
            page.wait("document.querySelector('dialog[open] kbd') !== null")
            keys = set(page.run("[...document.querySelectorAll('dialog[open] dt')].slice(1).map(e => [...e.querySelectorAll('kbd')].map(k => k.innerText).join(' '))"))
            self.assertLessEqual(keys, known, path)
            page.key("Escape")

    def test_keys_that_are_turned_off_do_nothing_and_typing_is_typing(self):
        page = self.page
        self.open("settings")
        page.wait_text("Who you are")
        page.wait("!document.querySelector('.skeleton')", "all cards, which move what is below them")
        page.click("Single keys are shortcuts", kind="label")
        page.wait("[...document.querySelectorAll('label')].some(e => e.innerText.includes('Single keys') && e.control?.checked === false)", "the unticked box")
        page.run("document.activeElement.blur()")
        page.key("g", "j")
        page.key("?")
        self.assertEqual(page.run("location.pathname + String(document.querySelector('dialog[open]'))"), "/ui/settingsnull")
        page.call("Input.dispatchKeyEvent", type="keyDown", key="k", modifiers=2, windowsVirtualKeyCode=75)
        page.wait("document.querySelector('dialog[open]') !== null", "the palette, which always opens")
        self.is_clean()


class PhoneTest(PageTest):
    def test_a_job_is_submitted_watched_and_cancelled_on_a_phone(self):
        page = self.page
        page.size(360, 740)
        page.call("Emulation.setTouchEmulationEnabled", enabled=True)
        self.open()
        page.click("Submit", kind="nav a")
        page.fill("#command", "echo from the phone; python3 -c 'raise ValueError(5)'; sleep 600")
        page.wait_text("The controller would accept it.")
        page.click("Submit", kind="form button")
        page.wait_text("from the phone")
        page.click("First error")
        page.wait("[...document.querySelectorAll('.line')].some(e => e.innerText.includes('ValueError: 5'))")
        page.wait("document.querySelector('.line.hit')?.innerText.includes('Traceback')", "the mark")
        page.click("Jobs", kind="nav a")
        page.wait("document.querySelector('td[data-label=User]') !== null")
        self.assertLessEqual(page.run("document.documentElement.scrollWidth"), 360)
        long = "x" * 120
        page.run(f"localStorage.setItem('schedulearn.filters', JSON.stringify([{{name: '{long}', query: 'state=failed'}}]))")
        self.open(f"jobs?label={long}={long}")
        page.wait_text(f"label:{long}")
        self.assertLessEqual(page.run("document.documentElement.scrollWidth"), 360, "the label is broken")
        self.open("jobs")
        page.click("echo")
        page.click("Cancel")
        page.wait_text("gets TERM")
        page.click("Cancel the job", kind="dialog button")
        self.assertEqual(self.lab.finished(1)["state"], "cancelled")
        page.wait_text("Run again")
        self.is_clean()


class ServersTest(PageTest):
    def test_a_server_joins_while_one_looks_and_is_drained_with_numbers(self):
        lab, page = self.lab, self.page
        job = lab.submit("sleep 600", name="stays", gpus=3)
        until(lambda: lab.job(job)["state"] == "running")
        self.open("servers")
        page.click("Add a server")
        page.wait_text("It appears here as soon as it has joined.")
        page.fill("#new-server", "lab")
        page.click("Make the line that joins")
        page.wait_text("[server-name-taken]")
        page.fill("#new-server", "fresh")
        page.click("Make the line that joins")
        page.wait_text(f"schedulearn agent join {lab.url} --name fresh --data")
        self.assertEqual([(token["name"], token["role"]) for token in lab.get("/api/v1/tokens")["items"]], [("fresh", "agent")])
        lab.start_another_agent("fresh", 2)
        page.wait_text("fresh has joined: 2 simulated GPUs.")
        page.click("Drain", within="[...document.querySelectorAll('.card')].find(e => e.innerText.startsWith('lab'))")
        page.wait_text("4 GPUs less for waiting jobs.")
        page.wait_text("1 job on 3 GPUs runs to the end")
        page.wait_text("stays, by")
        page.click("Drain", kind="dialog button")
        until(lambda: lab.get("/api/v1/servers/lab")["state"] == "draining")
        page.wait_text("Put back into service")
        self.is_clean()

    def test_a_server_that_is_gone_is_removed_by_its_name(self):
        lab, page = self.lab, self.page
        lab.start_another_agent("gone", 2)
        self.open("servers/gone")
        page.wait_text("Drain")
        lab.kill(lab.more_agents[-1])
        page.wait_text("Declare lost", 60)
        page.click("Remove")
        page.wait_text("2 GPUs leave the cluster")
        self.assertTrue(page.run("[...document.querySelectorAll('dialog button')].find(e => e.innerText === 'Remove it').disabled"))
        page.fill("#remove-name", "gone")
        page.click("Remove it")
        until(lambda: [server["name"] for server in lab.get("/api/v1/servers")["items"]] == ["lab"], what="the removal")
        self.is_clean()


class SettingsTest(PageTest):
    def test_what_is_chosen_holds_in_every_tab(self):
        page = self.page
        job = self.lab.submit("true")
        self.lab.finished(job)
        self.open("settings")
        page.click("dark", kind="label")
        page.click("UTC", kind="label")
        page.click("dense", kind="label")
        page.wait("document.documentElement.dataset.theme === 'dark'")
        self.page = page = self.browser.page()
        self.open(f"jobs/{job}")
        self.assertEqual(page.run("document.documentElement.dataset.theme + document.documentElement.dataset.density"), "darkdense")
        created = self.lab.job(job)["created_at"][11:19]
        page.wait_text(f"since {created} UTC")
        self.is_clean()

    def test_admins_tell_everybody_something_and_take_it_back(self):
        lab, page = self.lab, self.page
        self.open("settings")
        page.wait_text("Nothing is announced.")
        page.fill("#announcement", "gpu3 is down on Friday")
        page.wait_text("schedulearn announce 'gpu3 is down on Friday'")
        page.click("Announce")
        page.wait("document.querySelector('main > .told')?.innerText.includes('gpu3 is down on Friday')", "what everybody is told")
        page.wait_text("everybody is told")
        self.assertEqual([(each["text"], each["until"]) for each in lab.get("/api/v1/announcements")["items"]], [("gpu3 is down on Friday", None)])
        page.fill("#announcement", "over already")
        page.run("(e => { e.value = '2020-01-01T00:00'; e.dispatchEvent(new Event('input', {bubbles: true})) })(document.querySelector('#announced-until'))")
        page.run("document.querySelector('#announced-until').form.noValidate = true")
        page.click("Announce")
        page.wait_text("it would end before it is shown")
        page.click("Take back the announcement gpu3 is down on Friday")
        page.wait_text("It disappears everywhere at once.")
        page.click("Take back", kind="dialog button")
        page.wait("document.querySelector('.told') === null", "that nobody is told")
        self.assertEqual(lab.get("/api/v1/announcements")["items"], [])
        self.is_clean()

    def test_secrets_are_stored_and_channels_added_tested_and_removed(self):
        heard = []

        class Hook(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        lab, page = self.lab, self.page
        lab.kill(lab.controller)
        lab.start_controller("--notify-allow", f"127.0.0.1:{server.server_port}")
        self.open("settings")
        page.wait_text("You have stored none.")
        page.fill("#secret-name", "hook-url")
        page.fill("#secret-value", f"http://127.0.0.1:{server.server_port}/a-secret-path")
        page.click("Store")
        page.wait_text("hook-url is stored")
        self.assertEqual([secret["name"] for secret in lab.get("/api/v1/secrets")["items"]], ["hook-url"])
        page.click("Add a channel, or change one", kind="summary")
        page.fill("#channel-name", "team")
        page.click("Add")  # the browser asks for the secret
        page.fill("#channel-secret", "hook-url")
        page.click("failed", kind="label")
        page.click("Add")
        page.wait_text("always: failed")
        page.click("Test team")
        page.wait_text("A message was delivered.")
        self.assertEqual(len(heard), 1)
        page.fill("#secret-name", "hook-url")
        page.fill("#secret-value", "no address")
        page.click("Replace")
        page.wait("document.querySelector('#secret-value').value === ''")
        page.click("Test team")
        page.wait_text("It was not delivered:")
        self.assertNotIn("a-secret-path", page.run("document.documentElement.innerHTML + JSON.stringify(localStorage)"))
        self.assertEqual([url for url in page.requested if "a-secret-path" in url], [])
        # The form of a submission offers both.
        self.open("submit")
        page.wait("document.querySelector('#secrets-options option')?.value === 'hook-url'")
        page.fill("#command", "exit 3")
        page.click("Notifications", kind="summary")
        page.fill("#notify", "finished=team")
        page.click("Submit", within="document.querySelector('form')")
        page.wait("location.pathname.endsWith('/ui/jobs/1')")
        self.assertEqual(lab.job(1)["spec"]["notify"], [{"on": ["finished"], "to": "team"}])
        self.open("settings")
        page.click("Remove the channel team")
        page.click("Remove", within="document.querySelector('dialog[open]')")
        page.wait_text("You have no channel.")
        page.click("Remove the secret hook-url")
        page.click("Remove", within="document.querySelector('dialog[open]')")
        page.wait_text("You have stored none.")
        self.is_clean()


if __name__ == "__main__":
    if reason := reason_to_skip():
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
