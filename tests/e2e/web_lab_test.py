"""The Lab of the web page: policies are simulated, watched, compared, saved and removed, by mouse and by keys."""

import gzip
import json
import os
import sys
import unittest

from lab import until
from page import PageTest, reason_to_skip


def simulate(page, jobs):
    page.wait_text("Poisson arrivals")
    page.fill("#w-jobs", str(jobs))
    page.click("Simulate")


class LabPageTest(PageTest):
    def test_figures_over_the_number_of_jobs_are_lines(self):
        lab, page = self.lab, self.page
        self.open("lab")
        page.fill("#job-counts", "20, 60")
        simulate(page, 60)
        page.wait("location.pathname.endsWith('/ui/lab/1')")
        page.wait_text("With the first 60 jobs.", 40)
        page.wait("document.querySelector('[aria-label=\"By number of jobs\"] .uplot') !== null", "the lines", 40)
        said = "document.querySelector('[aria-label=\"By number of jobs\"] [role=slider]')"
        page.run(f"{said}.focus()")
        page.key("End")
        results = lab.get("/api/v1/simulations/1")["results"]
        self.assertEqual([result["policy"] for result in results], ["fifo", "fifo", "srtf", "srtf"])
        fewer, more = (result["jobs"] for result in results[:2])
        self.assertTrue(fewer <= 20 < more <= 60, "those left out are too wide")
        page.wait(f"document.querySelector('[aria-label=\\'Who held which GPU\\'] figcaption')?.innerText.startsWith('{more} jobs')", "the chart of the run with most jobs")
        self.assertEqual(page.run("document.querySelector('#drawn').selectedOptions[0].innerText"), "fifo")
        page.wait(f"{said}.getAttribute('aria-valuetext').startsWith('jobs {more}: fifo')")
        page.key("Home")
        page.wait(f"{said}.getAttribute('aria-valuetext').startsWith('jobs {fewer}: fifo')")
        self.assertEqual(page.run("[...document.querySelectorAll('tbody th[scope=row]')].map(e => e.innerText.trim())"), ["fifo", "srtf"])
        self.is_clean()

    def test_charts_follow_the_theme_of_the_system(self):
        lab, page = self.lab, self.page
        lab.request("POST", "/api/v1/simulations", {"trace": {"workload": "poisson", "parameters": {"jobs": 30}}, "job_counts": [10, 30], "policies": [{"name": "fifo"}]})
        until(lambda: all(each["finished_at"] for each in lab.get("/api/v1/simulations")["items"]))
        page.theme("light")
        self.open("lab/1")
        inked = """[...document.querySelectorAll('figure canvas')].map(e => {
            const {data} = e.getContext('2d').getImageData(0, 0, e.width, e.height);
            const ink = %s;
            let found = 0;
            for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 200 && ink.every((each, k) => Math.abs(data[i + k] - each) < 8)) found += 1;
            return found;
        })"""
        light, dark = inked % "[0x4a, 0x58, 0x72]", inked % "[0xa6, 0xb5, 0xcb]"  # --ink-soft, of the axes
        page.wait(f"{light}.length > 0 && {light}.every(found => found > 20)", "charts in light colours")
        page.theme("dark")
        page.wait(f"{dark}.every(found => found > 20) && {light}.every(found => found === 0)", "charts in dark colours", 5)
        self.is_clean()

    def test_figures_over_the_load_are_lines(self):
        lab, page = self.lab, self.page
        self.open("lab")
        page.fill("#loads", "0.4, 0.9, 1.6")
        simulate(page, 60)
        page.wait("location.pathname.endsWith('/ui/lab/1')")
        page.wait_text("At a load of 1.6.", 40)
        page.wait_text("made to need 40 %, 90 %, 160 % of them")
        chart = "document.querySelector('[aria-label=\"By load\"] [role=slider]')"
        page.wait("document.querySelector('[aria-label=\"By load\"] .uplot') !== null", "the lines", 40)
        page.run(f"{chart}.focus()")
        page.key("Home")
        results = {(result["policy"], result["load"]): result["avg_jct_s"] for result in lab.get("/api/v1/simulations/1")["results"]}
        self.assertEqual(sorted(results), [(policy, load) for policy in ("fifo", "srtf") for load in (0.4, 0.9, 1.6)])
        page.wait(f"{chart}.getAttribute('aria-valuetext').startsWith('load 0.4: fifo')")
        page.key("End")
        page.wait(f"{chart}.getAttribute('aria-valuetext').startsWith('load 1.6: fifo')")
        self.assertEqual(page.run("[...document.querySelectorAll('tbody th[scope=row]')].map(e => e.innerText.trim())"), ["fifo", "srtf"])
        self.is_clean()

    def pictures(self):
        self.page.wait("document.querySelectorAll('figure .uplot').length === 3 && document.querySelectorAll('figure .bar').length === 3 && document.querySelectorAll('.gantt .box').length >= 100", "three curves, three bars and the boxes of the jobs", 40)

    def test_policies_are_simulated_compared_and_removed(self):
        lab, page = self.lab, self.page
        self.open("lab")
        page.wait_text("None yet")
        simulate(page, 150)
        page.wait("location.pathname.endsWith('/ui/lab/1')")
        page.wait_text("Mean completion", 40)
        results = lab.get("/api/v1/simulations/1")["results"]
        self.assertEqual([result["policy"] for result in results], ["fifo", "srtf"])
        self.assertEqual(page.run("[...document.querySelectorAll('#figures ~ *, section table')].length > 0 && [...document.querySelectorAll('tbody th[scope=row]')].slice(0, 2).map(e => e.innerText.trim())"), ["fifo", "srtf"])
        self.pictures()
        self.assertIn("srtf", page.run("document.querySelector('figcaption').innerText"))
        page.click("wait")
        page.wait("document.querySelector('figcaption')?.innerText.includes('wait')", "the distribution of waits")
        self.pictures()
        # The values at a point, by pointer and by keys; charts over time have one cursor.
        point = page.run("(() => { const e = document.querySelectorAll('figure .u-over')[1]; e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect(); return {x: b.x + b.width / 2, y: b.y + b.height / 2}; })()")
        page.call("Input.dispatchMouseEvent", type="mouseMoved", button="none", clickCount=0, **point)
        page.wait("[...document.querySelectorAll('.legend .at')].length === 2", "the point in both charts over time")
        page.call("Input.dispatchMouseEvent", type="mouseMoved", button="none", clickCount=0, x=2, y=2)  # a line that happens to be near would be marked
        page.wait("document.querySelector('.legend .at, .stressed, .faded') === null", "that nothing is pointed at")
        said = "document.querySelector('figure [role=slider]').getAttribute('aria-valuetext')"
        page.run("document.querySelector('figure [role=slider]').focus()")
        page.key("End")
        page.wait(f"{said}.includes('fifo 100') || {said}.includes('srtf 100')", "all jobs at the end")
        at_end = page.run(said)
        page.key("ArrowLeft")
        page.wait(f"{said} !== {at_end!r}", "the point before")
        # A policy that is pointed at is marked everywhere: by keys in a chart, by the name of its bar, by pointer in the figures.
        marked = "[document.querySelector('tr.stressed th')?.innerText.trim(), document.querySelector('.name[aria-pressed=true]')?.innerText, document.querySelectorAll('.faded').length > 0].join()"
        page.key("ArrowDown")
        page.wait(f"{marked} === 'fifo,fifo,true' && {said}.endsWith('; fifo is marked')", "the first policy everywhere")
        page.key("ArrowDown")
        page.wait(f"{marked} === 'srtf,srtf,true'", "the second policy everywhere")
        page.key("ArrowDown")
        page.wait("document.querySelector('.stressed, .faded, .name[aria-pressed=true]') === null", "no policy")
        page.run("[...document.querySelectorAll('.name')].find(e => e.innerText === 'srtf').focus()")
        page.wait(f"{marked} === 'srtf,srtf,true'", "the policy of the bar")
        page.run("document.activeElement.blur()")
        page.wait("document.querySelector('.stressed, .faded') === null", "no policy")
        point = page.run("(() => { const b = [...document.querySelectorAll('tbody th[scope=row]')][0].getBoundingClientRect(); window.scrollBy(0, b.top - 200); const c = [...document.querySelectorAll('tbody th[scope=row]')][0].getBoundingClientRect(); return {x: c.x + 5, y: c.y + 5}; })()")
        page.call("Input.dispatchMouseEvent", type="mouseMoved", button="none", clickCount=0, **point)
        page.wait(f"{marked} === 'fifo,fifo,true'", "the policy of the row")
        page.call("Input.dispatchMouseEvent", type="mouseMoved", button="none", clickCount=0, x=2, y=2)
        page.wait("document.querySelector('.stressed, .faded') === null", "no policy")
        page.click("As a table", kind="summary")
        page.wait("document.querySelectorAll('details[open] tbody tr').length > 10")
        # The boxes of the Gantt chart, by pointer and by keys.
        gantt = "document.querySelector('[aria-label=\"Boxes of the chart\"]')"
        point = page.run("(() => { const e = [...document.querySelectorAll('.gantt .box')].sort((a, b) => b.offsetWidth - a.offsetWidth)[0]; e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect(); return {x: b.x + b.width / 2, y: b.y + b.height / 2}; })()")
        page.call("Input.dispatchMouseEvent", type="mouseMoved", button="none", clickCount=0, **point)
        page.wait(f"/^job \\d+ on gpu?\\S+:\\d.*, .* to .* long/.test({gantt}.getAttribute('aria-valuetext'))", "the job under the pointer")
        page.run(f"{gantt}.focus()")
        page.key("Home")
        first = page.wait(f"/^job .*, 0 s to/.test({gantt}.getAttribute('aria-valuetext')) && {gantt}.getAttribute('aria-valuetext')", "the first job")
        self.assertIn(first, page.text())
        page.key("ArrowRight")
        page.wait(f"{gantt}.getAttribute('aria-valuetext').startsWith('job ') && {gantt}.getAttribute('aria-valuetext') !== {first!r}", "the next")
        # Its time is shaded in the curves over time, and the moment that is pointed at in one of them is marked here.
        curve = "document.querySelector('[aria-label=\"Queue\"] .chart')"
        page.wait(f"[...document.querySelectorAll('.chart .span')].filter(e => e.style.display !== 'none').length >= 2 && {curve}.querySelector('.span').style.display !== 'none'", "the time of the job in other charts")
        page.key("Escape")
        page.wait("[...document.querySelectorAll('.chart .span')].every(e => e.style.display === 'none')", "nothing to be marked")
        self.assertTrue(page.run("document.querySelector('.gantt .time') === null"))
        page.run(f"{curve}.focus()")
        page.key("Home")
        page.wait("document.querySelector('.gantt .time') !== null && document.querySelectorAll('.gantt .box.same').length > 0", "the moment and what runs then")
        # The report is whole: it asks nobody for anything.
        page.run("window.made = []; URL.createObjectURL = (blob) => { blob.text().then((text) => made.push(text)); return 'about:blank#'; }; HTMLAnchorElement.prototype.click = () => undefined")
        page.click("Save the report")
        report = page.wait("window.made[0]", "the report", 40)
        self.assertEqual(report.count("<img"), 4)
        self.assertEqual(report.count("src=\"data:image/svg+xml,"), 4)
        self.assertIn("schedulearn sim compare", report)
        self.assertRegex(page.run("document.querySelector('#same-command').innerText"), r"^schedulearn sim show \d+$")
        self.assertTrue(page.run("document.querySelector('#made-by').innerText.startsWith('schedulearn sim compare')"))
        self.assertNotIn("<script", report)
        page.click("Remove")
        page.wait_text("Remove simulation 1?")
        page.click("Remove", within="document.querySelector('dialog[open]')")
        page.wait_text("None yet")
        self.assertEqual(lab.get("/api/v1/simulations")["items"], [])
        self.is_clean()

    def test_utilization_of_each_server(self):
        """A panel for each, with all policies; of more servers than fit a picture of the chosen run."""
        page = self.page
        page.open(f"{self.lab.url}/ui/settings")
        page.run("localStorage.setItem('schedulearn.theme', 'dark')")
        for servers, panels in (("3x2", 3), ("16x1", 0)):
            self.open("lab")
            page.click("others")
            page.fill("#servers", servers)
            simulate(page, 40)
            page.wait("location.pathname.includes('/ui/lab/')")
            page.run("(make => { window.made = {}; URL.createObjectURL = blob => { const address = make(blob); blob.text().then(text => (made[address] = text)); return address; }; })(URL.createObjectURL.bind(URL))")
            page.click("each server")
            chart = "document.querySelector('[aria-label=\"Utilization\"]')"
            page.wait(f"{chart}.querySelectorAll('.uplot').length === {panels} && {chart}.querySelectorAll('img').length === {0 if panels else 1} && !{chart}.querySelector('.problem')", f"the panels of {servers}", 40)
            if panels:
                names = page.run(f"[...{chart}.querySelectorAll('.panel-title')].map(e => e.innerText)")
                self.assertEqual(len(set(names)), panels)
                self.assertEqual(page.run(f"[...{chart}.querySelector('.legend').querySelectorAll('li, span')].filter(e => /^(fifo|srtf)/.test(e.innerText)).length >= 2"), True)
            self.assertEqual(page.run("location.search"), "?by=server")
            saved = page.wait(f"window.made[{chart}.querySelector('a[download$=\".svg\"]').href]", "what is saved")
            only = "" if panels else "&result=0"
            number = page.run("location.pathname.split('/').at(-1)")
            self.assertEqual(saved, self.lab.get(f"/api/v1/simulations/{number}/charts/util?by=server&theme=light&width_mm=160{only}")["svg"])
            if not panels:
                page.wait(f"(text => text && text !== {json.dumps(saved)})(window.made[{chart}.querySelector('img').src])", "the picture in the colours of the page")
            page.click("all servers")
            page.wait(f"{chart}.querySelectorAll('.uplot').length === 1")
        self.is_clean()

    def test_progress_is_shown_as_it_is_made_and_a_long_one_can_be_stopped(self):
        lab, page = self.lab, self.page
        self.open("lab")
        page.wait_text("Poisson arrivals")
        page.run("document.querySelector('[aria-label=\"Policy 2\"]').value = 'gandiva'; document.querySelector('[aria-label=\"Policy 2\"]').dispatchEvent(new Event('change', {bubbles: true}))")
        simulate(page, 400000)
        page.wait("document.querySelector('progress')?.value > 0", "progress")
        page.click("Stop and remove")
        page.click("Remove", within="document.querySelector('dialog[open]')")
        page.wait_text("None yet")
        until(lambda: lab.get("/api/v1/simulations")["items"] == [])
        self.is_clean()

    def test_what_is_wrong_is_said_where_it_is_asked_and_a_trace_of_ones_own_is_simulated(self):
        lab, page = self.lab, self.page
        self.open("lab")
        page.wait_text("Poisson arrivals")
        page.click("a trace of yours, once")
        page.fill("#trace-text", "job_id,submit_time_s,gpus\n1,0,1\n")
        page.click("Simulate")
        page.wait_text("[trace-columns]")
        page.fill("#trace-text", "job_id,submit_time_s,gpus,duration_s\n1,0,1,60\n2,5,400,60\n3,9,2,30\n")
        page.click("others")
        page.fill("#servers", "two")
        page.click("Simulate")
        page.wait_text("[bad-servers]")
        page.fill("#servers", "1x2")
        page.click("Simulate")
        page.wait_text("Figures", 40)
        self.assertEqual([(each["jobs"], each["left_out"]) for each in lab.get("/api/v1/simulations")["items"]], [(2, 1)])
        page.wait_text("1 job left out")
        self.is_clean()

    def test_what_is_wrong_with_a_parameter_is_said_at_its_field(self):
        page = self.page
        problem = {"title": "", "status": 422, "code": "bad-parameter", "detail": "jobs must be a number", "notes": [], "hints": []}
        for at in ("/trace/parameters/jobs", "/workload/parameters/jobs"):
            page.intercept(lambda method, address: (422, {**problem, "errors": [{"pointer": at, "detail": "jobs must be a number"}]}) if (method, address) == ("POST", "simulations") else None)
            self.open("lab")
            page.fill("#w-jobs", "many")
            page.click("Simulate")
            page.wait("document.querySelector('#w-jobs-fault')?.innerText === 'jobs must be a number'", at)
            self.assertEqual(page.run("document.querySelector('#w-jobs').getAttribute('aria-invalid')"), "true")
        self.is_clean()

    def test_a_trace_is_uploaded_simulated_and_removed(self):
        lab, page = self.lab, self.page
        head = "job_id,submit_time_s,gpus,duration_s\n"
        good, bad = lab.folder / "two weeks.csv.gz", lab.folder / "bad.csv"
        good.write_bytes(gzip.compress((head + "".join(f"{os.urandom(24).hex()}{i},{i},{2 if i % 2 else 0},60\n" for i in range(40000))).encode()))
        self.assertGreater(good.stat().st_size, 1 << 20, "more than one request")
        bad.write_text(head + "1,0,x,60\n")
        self.open("lab")
        page.wait_text("Nobody has uploaded one.")

        def choose(file):
            root = page.call("DOM.getDocument")["root"]["nodeId"]
            field = page.call("DOM.querySelector", nodeId=root, selector="#upload-file")["nodeId"]
            page.call("DOM.setFileInputFiles", nodeId=field, files=[str(file)])

        choose(bad)
        page.wait("document.querySelector('#upload-name').value === 'bad'")
        page.click("Upload", kind="button")
        page.wait_text("[trace-row]")
        choose(good)
        page.wait("document.querySelector('#upload-name').value === 'two-weeks'")
        page.click("Upload", kind="button")
        page.wait_text("two-weeks is uploaded", 60)
        page.wait_text("40,000 jobs of up to 2 GPUs in 11 h")
        self.assertNotIn("[trace-row]", page.text())
        page.click("an uploaded trace")
        page.wait("[...document.querySelectorAll('#uploaded option')].map(e => e.innerText).join() === 'two-weeks'")
        page.click("Also those without GPUs")
        page.fill("#job-counts", "50")
        page.click("others")
        page.fill("#servers", "1x2")
        page.click("Simulate")
        page.wait_text("Figures", 40)
        made = lab.get("/api/v1/simulations")["items"][0]
        self.assertEqual((made["trace"], made["jobs"], made["keep_cpu_jobs"]), ("two-weeks", 50, True))
        self.open("lab")
        page.wait_text("of up to 2 GPUs")
        page.run("document.querySelector('[aria-label=\"Remove the trace two-weeks\"]').click()")
        page.click("Remove", within="document.querySelector('dialog[open]')")
        page.wait_text("two-weeks is removed")
        self.assertEqual(lab.get("/api/v1/traces?uploaded=true")["items"], [])
        self.is_clean()

    def test_keys_alone_are_enough(self):
        page = self.page
        self.open("")
        page.wait_text("Live")
        page.run("document.activeElement.blur()")
        page.key("g", "l")
        page.wait_text("Poisson arrivals")
        page.run("document.querySelector('#w-jobs').focus()")
        page.call("Input.insertText", text="60")
        page.key("Enter")
        page.wait_text("Figures", 40)
        self.is_clean()


if __name__ == "__main__":
    if reason := reason_to_skip():
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
