"""The first page: whose jobs, which GPU is free next, who holds what, what was out of the ordinary; and what the doctor says."""

import json
import sys
import unittest

from lab import until
from page import DOUBLE, PageTest, reason_to_skip


class OverviewTest(PageTest):
    def text_of(self, title):
        return self.page.run(f"[...document.querySelectorAll('.panel')].find(each => each.querySelector('h2')?.innerText === {json.dumps(title)})?.innerText ?? ''")

    def wait_in(self, title, text):
        self.page.wait(f"([...document.querySelectorAll('.panel')].find(each => each.querySelector('h2')?.innerText === {json.dumps(title)})?.innerText ?? '').includes({json.dumps(text)})", f"{text!r} in {title}")

    def test_the_bell_counts_what_is_notable_and_shows_it(self):
        lab, page = self.lab, self.page
        self.open("policy")
        page.wait("document.querySelector('.tool .user')?.innerText.length > 0", "who is signed in")
        lab.finished(lab.submit("true", name="ordinary"))
        lab.finished(lab.submit("exit 3", name="fails"))
        page.click("Notable events: 1 new")
        page.wait("document.querySelector('dialog[open]')?.innerText.includes('failed')", "the failure")
        self.assertNotIn("succeeded", page.run("document.querySelector('dialog[open]').innerText"))
        lab.finished(lab.submit("exit 4", name="fails-too"))
        page.wait("document.querySelector('dialog[open]').innerText.includes('job 3')", "what happens meanwhile")
        page.key("Escape")
        page.click("Notable events")
        page.click("All events", within="document.querySelector('dialog[open]')")
        page.wait("location.pathname === '/ui/events' && document.querySelector('dialog[open]') === null")
        self.is_clean()

    def test_the_next_free_gpu_is_now_then_known_then_unknown_with_the_reason(self):
        lab = self.lab
        self.open()
        self.wait_in("Next free GPU", "now")
        self.assertIn("lab:0-3 are free", self.text_of("Next free GPU"))
        self.assertRegex(lab.cli("status").stdout, r"next free now, on lab")
        before = lab.submit("true", hold=True)
        later = lab.submit("true", after=[before])
        self.wait_in("Next free GPU", "lab:0-3 are free; 1 job waits all the same.")
        for each in (later, before):
            lab.cli("cancel", str(each))
            lab.finished(each)
        job = lab.submit("sleep 600", name="known", gpus=4, time={"estimate": "30m"})
        until(lambda: lab.job(job)["state"] == "running")
        until(lambda: lab.get("/api/v1/cluster")["next_free"]["job_id"] == job)
        self.wait_in("Next free GPU", f"lab:0-3, when job {job} ends.")
        self.assertRegex(self.text_of("Next free GPU"), r"in \d+ (min|s|h)")
        self.assertRegex(lab.cli("status").stdout, rf"next free about .*, on lab, when job {job} ends")
        lab.cli("cancel", str(job))
        lab.finished(job)
        endless = lab.submit("sleep 600", name="unknown", gpus=4)
        until(lambda: lab.job(endless)["state"] == "running")
        self.wait_in("Next free GPU", "unknown")
        self.wait_in("Next free GPU", "says how long it runs")
        self.assertIn("next free not known: no job", lab.cli("status").stdout)
        self.is_clean()

    def test_my_jobs_are_mine_and_there_is_a_way_to_all(self):
        lab, page = self.lab, self.page
        mine = lab.submit("sleep 600", name="mine")
        lab.request("POST", "/api/v1/jobs", {"command": "sleep 600", "name": "others", "gpus": 1, "user": "mei"})
        lab.finished(lab.submit("exit 4", name="broken"))
        self.open()
        self.wait_in("My jobs", "mine")
        self.wait_in("My jobs", "broken")
        self.assertNotIn("others", self.text_of("My jobs"))
        page.click("of all")
        self.wait_in("Jobs of all", "others")
        page.wait("location.search === '?jobs=all'")
        page.click("mine")
        self.wait_in("My jobs", "mine")
        page.click("All my jobs")
        page.wait("location.pathname.endsWith('/ui/jobs') && location.search.startsWith('?user=')")
        page.wait_text("mine")
        self.assertNotIn("others", page.run("document.querySelector('main').innerText"))
        self.assertEqual(lab.job(mine)["state"], "running")
        self.is_clean()

    def test_only_what_is_out_of_the_ordinary_is_notable(self):
        lab = self.lab
        lab.finished(lab.submit("true", name="goes-well"))
        lab.finished(lab.submit("exit 7", name="goes-wrong"))
        lab.cli("policy", "set", "sjf")
        self.open()
        self.wait_in("Notable events", "policy changed fifo → sjf")
        text = self.text_of("Notable events")
        self.assertIn("failed", text)
        self.assertNotIn("submitted", text)
        self.assertNotIn("succeeded", text)
        many = {"jobs": [{"command": "true", "workdir": "/", "hold": True}] * 400}
        self.assertLess(lab.request("POST", "/api/v1/jobs/batch", many)[0], 300)
        self.open()
        self.wait_in("Notable events", "policy changed fifo → sjf")  # however much else has happened since

    def test_a_long_server_name_leaves_room_for_what_happened(self):
        name = "a-server-with-a-very-long-name.rack-17.example.org"
        self.lab.start_another_agent(name, 1)
        for width in (360, 1280):
            self.page.size(width, 900)
            self.open()
            self.wait_in("Notable events", name)
            right = self.page.run("[...document.querySelectorAll('td.about')].find(e => e.innerText.startsWith('a-server')).nextElementSibling.getBoundingClientRect().right")
            self.assertLessEqual(right, width, width)

    def test_servers_that_take_no_jobs_are_told_one_by_one(self):
        for server in ("other", "third"):
            self.lab.start_another_agent(server, 1)
        for server in ("lab", "other"):
            self.lab.cli("servers", "drain", server)
        self.open()
        self.page.wait("/lab is drain\\w+\\. other is drain\\w+\\./.test([...document.querySelectorAll('.figure')].at(-1).innerText)", "two sentences")

    def test_events_are_found_by_what_they_are_about_and_by_a_word_and_the_command_line_finds_the_same(self):
        lab, page = self.lab, self.page
        for i in range(250):
            lab.submit("true", hold=True)
        lab.cli("policy", "set", "sjf")
        for i in range(250):
            lab.submit("true", hold=True)
        self.open("events?about=policy")
        page.wait_text("policy changed fifo → sjf")  # not among the latest 200 of all
        self.assertEqual(page.run("document.querySelector('#same-command').innerText"), "schedulearn events --limit 200 --about policy")
        self.assertRegex(lab.cli("events", "--limit", 200, "--about", "policy").stdout, r"policy.changed .*fifo +sjf")
        page.fill("input[data-search]", "job 3")
        page.wait_text("No event matches")
        self.assertEqual(page.run("document.querySelector('#same-command').innerText"), "schedulearn events 3 --limit 200")
        self.open("events?q=it's")
        page.wait_text("0 events of the latest 200 match")
        self.assertEqual(page.run("document.querySelector('#same-command').innerText"), "schedulearn events --limit 200 | grep -iF -e 'it'\\''s'")
        self.is_clean()

    def test_tiles_are_coloured_by_user_and_job_with_a_legend_and_reached_with_arrows(self):
        lab, page = self.lab, self.page
        jobs = [json.loads(lab.request("POST", "/api/v1/jobs", {"command": "sleep 600", "name": "x", "gpus": gpus, "user": user})[2]).get("id") for user, gpus in (("mei", 2), ("bella", 1))]
        until(lambda: lab.get("/api/v1/cluster")["gpus"]["allocated"] == 3)
        lab.environment["LD_LIBRARY_PATH"] = DOUBLE
        lab.start_another_agent("measured", 0)
        self.open("?by=user")
        page.wait("document.querySelector('[aria-label=\"Colours of users\"]') !== null", "the legend")
        self.assertEqual(page.run("[...document.querySelectorAll('[aria-label=\"Colours of users\"] li')].map(e => e.innerText.replace(/\\s+/g, ' ').trim())"), ["mei 2 GPUs", "bella 1 GPU"])
        colours = page.run("[...document.querySelectorAll('.tile.owned')].map(e => getComputedStyle(e).backgroundColor)")
        self.assertEqual([colours.count(each) for each in sorted(set(colours), key=colours.count)], [1, 2])
        page.run("(e => { e.value = 'job'; e.dispatchEvent(new Event('change', {bubbles: true})); })(document.querySelector('header select'))")
        page.wait(f"document.querySelector('[aria-label=\"Colours of jobs\"]')?.innerText.includes('job {jobs[0]}')")
        page.run("(e => { e.value = 'power'; e.dispatchEvent(new Event('change', {bubbles: true})); })(document.querySelector('header select'))")
        page.wait_text("Fill: power, full at")
        page.wait("[...document.querySelectorAll('.tile .value')].some(e => / W$/.test(e.innerText))", "a power")
        # One tile is in the order of Tab; the arrows go to the others, and what has the focus is said.
        self.assertEqual(page.run("document.querySelectorAll('.tile[tabindex=\"0\"]').length"), 1)
        page.run("document.querySelector('.tile[tabindex=\"0\"]').focus()")
        at = "document.activeElement.getAttribute('aria-label').split(':')[0]"
        first = page.run(at)
        page.key("ArrowRight")
        self.assertNotEqual(page.run(at), first)
        page.key("ArrowLeft")
        self.assertEqual(page.run(at), first)
        page.key("ArrowDown")
        self.assertNotEqual(page.run(at).rpartition("-")[0], first.rpartition("-")[0], "the row below is another server")
        self.assertTrue(page.run("document.querySelector('.detail').innerText.startsWith(" + at + ")"))
        page.key("End")
        self.assertEqual(page.run(at), page.run("[...document.querySelectorAll('.tile')].at(-1).getAttribute('aria-label').split(':')[0]"))
        self.is_clean()

    def test_many_gpus_are_small_and_very_many_a_summary_by_server(self):
        lab, page = self.lab, self.page
        cluster = lab.get("/api/v1/cluster")
        gpu, server = cluster["servers"][0]["gpus"][0], cluster["servers"][0]

        def of(servers, gpus):
            made = [{**server, "name": f"s{s}", "gpus": [{**gpu, "identifier": f"s{s}-{g}", "server": f"s{s}", "index": g} for g in range(gpus)]} for s in range(servers)]
            return 200, {**cluster, "servers": made}

        for servers, gpus, size in ((8, 8, "large"), (9, 8, "small"), (126, 8, "summary")):
            page.intercept(lambda method, address, answer=of(servers, gpus): answer if address == "cluster" else None)
            page.open(f"{lab.url}/ui/")
            page.wait(f"document.querySelector('.map.{size}') !== null", f"{servers} servers of {gpus} GPUs as {size}")
            self.assertEqual(page.run("document.querySelectorAll('.tile').length"), 0 if size == "summary" else servers * gpus)
        self.assertEqual(page.run("document.querySelectorAll('.map meter').length"), 126)
        self.is_clean()

    def test_the_last_day_of_each_server_is_a_strip_and_a_table(self):
        lab, page = self.lab, self.page
        job = lab.submit("sleep 600", name="holds", gpus=4)
        until(lambda: lab.job(job)["state"] == "running")
        lab.start_another_agent("idle", 2)
        known = lambda: {line["labels"]["server"]: line["values"] for line in lab.get("/api/v1/cluster/metrics?by=server&hours=24")["series"] if line["name"] == "gpus_allocated"}
        until(lambda: any(known().get("lab", [])) and any(value is not None for value in known().get("idle", [])), 90, "a minute of both servers")
        self.open()
        page.wait("document.querySelectorAll('.strip').length === 2", "a strip of each server")
        self.assertIn("linear-gradient", page.run("document.querySelector('.strip').style.backgroundImage"))
        page.wait("[...document.querySelectorAll('.strips li')].some(e => /idle/.test(e.innerText) && /\\b0 %/.test(e.innerText))")
        page.click("busy")
        page.wait_text("No GPU says how busy it is")
        self.assertEqual(lab.request("GET", "/api/v1/cluster/metrics?by=user")[0], 422)
        self.is_clean()


class DoctorTest(PageTest):
    def test_the_page_says_what_the_command_says_of_controller_and_servers(self):
        lab, page = self.lab, self.page
        lab.start_another_agent("other", 1)
        self.open("settings")
        page.wait_text("Nothing is wrong.")
        page.wait_text("server other is up with 1 GPU")
        lab.kill(lab.more_agents[-1])
        page.wait_text("1 to mend.", 60)
        said = {row["subject"]: row for row in json.loads(lab.cli("doctor", "--json", check=False).stdout)["items"]}
        shown = page.run("[...document.querySelectorAll('.remedy')].map(e => e.innerText)")
        self.assertIn(said["server other"]["remedy"], shown)
        self.open("servers/other")
        page.wait_text("start its agent, or: schedulearn servers lost other")
        self.assertNotIn("server lab", page.run("document.querySelector('main').innerText"))
        self.open("servers/lab")
        page.wait_text("server lab is up with 4 GPUs")
        self.is_clean()


if __name__ == "__main__":
    if reason := reason_to_skip():
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
