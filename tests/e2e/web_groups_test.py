"""Arrays on the web page: one row for many jobs, in the list and in the line; their own page; what is done to them. And what
a job's page tells besides: who is told of it, what it has used."""

import json
import sys
import unittest

from lab import until
from page import PageTest, reason_to_skip

ROWS = "[...document.querySelectorAll('tbody tr td.id')].map(e => Number(e.innerText))"


class GroupsTest(PageTest):
    def go(self):
        (self.lab.folder / "go").touch()

    def sweep(self, **more):
        """Member 2 fails at once, the others wait for a file."""
        command = f'[ {{index}} != 2 ] || exit 1; echo "{{\\"epoch\\": 1, \\"epochs\\": 1, \\"loss\\": 0.{{index}}5}}" >> $SCHEDULEARN_METRICS_FILE; until [ -e "{self.lab.folder}/go" ]; do sleep 0.05; done'
        return self.lab.submit(command, **{"array": "0-9", "max_running": 3, "gpus": 1, "name": "sweep", **more})

    def rows(self, expected, what):
        self.page.wait(f"JSON.stringify({ROWS}) === '{json.dumps(expected, separators=(',', ':'))}'", what)

    def test_an_array_is_one_row_that_opens_and_is_cancelled_with_a_job(self):
        page, lab = self.page, self.lab
        group = self.sweep()
        until(lambda: lab.job(group)["members"]["running"] == 3 and lab.job(group)["members"]["failed"] == 1, what="the members")
        job = lab.submit("sleep 600", name="single", gpus=4)
        self.open("")
        page.wait_text("3 running, 6 waiting, 1 failed")
        self.rows([job, group], "one row for the array on the overview")
        self.assertNotIn("Ended last", page.text(), "a member that has ended is not news of its own")
        self.open("jobs")
        page.wait_text("3 running, 6 waiting, 1 failed")
        self.rows([job, group], "one row for the array")
        page.click(f"Members of job {group}")
        page.wait("document.querySelectorAll('tr.nested').length >= 4", "its members")
        shown = page.run(ROWS)
        self.assertEqual(shown[:2], [job, group])
        self.assertEqual(set(shown[2:]), {each["id"] for each in lab.get(f"/api/v1/jobs?group={group}")["items"]})
        page.click(f"Members of job {group}")
        self.rows([job, group], "the closed array")
        page.click("Members of arrays one by one")
        page.wait("document.querySelectorAll('tbody tr').length >= 6", "members one by one")
        page.click("Members of arrays one by one")
        self.rows([job, group], "one row again")
        page.click(f"Choose job {group}", kind="input")
        page.click(f"Choose job {job}", kind="input")
        page.click("Cancel 1 job and 1 array")
        page.wait_text("7 that wait leave the line; 3 that run are told to stop")
        page.wait_text("They hold at least 3 GPUs")
        page.click("Cancel them", kind="dialog button")
        self.assertEqual(lab.finished(group)["state"], "cancelled")
        self.assertEqual(lab.finished(job)["state"], "cancelled")
        members = lab.job(group)["members"]
        self.assertEqual((members["cancelled"], members["failed"], members["succeeded"]), (9, 1, 0), lab.get(f"/api/v1/jobs?group={group}"))
        self.is_clean()

    def test_a_long_name_cuts_no_bar_off(self):
        lab, page = self.lab, self.page
        lab.request("POST", "/api/v1/jobs/batch", {"jobs": [{"command": "true", "workdir": "/", "hold": True}] * 110})
        self.sweep(name="a-sweep-with-a-name-that-has-no-room-here")
        for width in (1000, 1280):
            page.size(width, 900)
            self.open("jobs")
            page.wait("document.querySelector('.tall .name .bar') !== null", "the array in a long table")
            left, right, end = page.run("(bar => [bar.getBoundingClientRect().left - bar.previousElementSibling.getBoundingClientRect().right, bar.getBoundingClientRect().right, bar.closest('td').getBoundingClientRect().right])(document.querySelector('.tall .name .bar'))")
            self.assertGreaterEqual(left, 0, width)
            self.assertLess(right, end, width)
        self.is_clean()

    def test_in_the_line_an_array_has_the_places_of_its_members_and_moves_as_one(self):
        page, lab = self.page, self.lab
        lab.submit("sleep 600", name="holds", gpus=4, time={"estimate": "10m"})
        first = lab.submit("sleep 600", name="first", gpus=2, time={"estimate": "5m"})
        group = self.sweep(max_running=0, time={"estimate": "5m"})
        last = lab.submit("sleep 600", name="last", gpus=2, time={"estimate": "5m"})
        line = lambda: [each["id"] for each in lab.get("/api/v1/queue?grouped=true")["items"]]
        until(lambda: line() == [first, group, last], what="the line")
        queued = lab.get("/api/v1/queue?grouped=true")["items"][1]
        self.assertEqual((queued["position"], queued["in_line"], queued["ahead"]), (2, 5, {"jobs": 1, "gpus": 2}))
        self.open("jobs?tab=queue")
        page.wait_text("2–6")
        page.wait_text("6 jobs, 7 GPUs")
        page.wait_text(f"Job {first}, the first in line, starts about", 40)
        self.assertGreaterEqual(page.run("document.querySelectorAll('.chart .bar').length"), 2)
        page.click("As a table")
        page.wait_text("9 in 10 before")
        page.click(f"Move job {group} up")
        page.wait_text("It goes from place 2 to place 1 under the policy fifo.")
        page.wait_text(f"schedulearn set {group} --before {first}")
        page.click("Move it", kind="dialog button")
        until(lambda: line() == [group, first, last], what="the new line")
        page.wait_text("1–5")
        page.click(f"Move job {group} down")
        page.wait_text("It goes from place 1 to place 2")
        page.click("Move it", kind="dialog button")
        until(lambda: line() == [first, group, last], what="the old line")
        page.wait("!document.querySelector('dialog[open]')", "the end of the dialog")
        page.wait_text("2–6")
        page.click(f"Choose job {group}", kind="input")
        page.click("Suspend 1 array")
        page.wait_text("10 that wait leave the line until resumed")
        page.click("Suspend it", kind="dialog button")
        until(lambda: lab.job(group)["state"] == "held", what="the held array")
        until(lambda: line() == [first, last], what="the line without it")
        self.is_clean()

    def test_its_page_shows_its_members_what_they_gave_and_runs_the_failed_ones_again(self):
        page, lab = self.page, self.lab
        group = self.sweep(array=None, matrix={"lr": ["0.1", "0.2"], "seed": ["1", "2", "3"]}, max_running=3)
        until(lambda: lab.job(group)["members"]["running"] == 3 and lab.job(group)["members"]["failed"] == 1, what="the members")
        self.open(f"jobs/{group}")
        page.wait_text("17 % of 6 members have ended")
        page.wait_text("lr=0.1 seed=2")
        until(lambda: (lab.job(group + 1)["progress"] or {}).get("loss") is not None, what="a loss")
        page.wait_text("loss 0.05")
        page.click("1 failed")
        self.rows([group + 3], "the failed one")
        self.assertIn("show=failed", page.run("location.search"))
        page.click("1 failed")
        page.click("Run failed again")
        page.wait_text("submitted again as a new array of the members that failed: 2")
        page.click("Run failed again", kind="dialog button")
        page.wait(f"location.pathname === '/ui/jobs/{group + 7}'", "the new array")
        self.go()
        self.assertEqual(lab.finished(group)["members"]["succeeded"], 5)
        self.open(f"jobs/{group}?tab=usage")
        page.wait_text("of 6 members that came up")
        page.key("t")
        page.wait_text("Steps")
        page.key("s")
        page.wait_text("To submit it again")
        page.wait_text("[matrix]")
        self.is_clean()

    def test_how_many_members_run_at_once_is_changed_on_its_page_and_by_command(self):
        page, lab = self.page, self.lab
        group = self.sweep(max_running=1)
        running = lambda: lab.job(group)["members"]["running"]
        until(lambda: running() == 1, what="one member")
        self.open(f"jobs/{group}")
        page.click("Members at once")
        page.fill("#at-once-wanted", "-1")
        page.wait_text("write a number from 0 on")
        page.fill("#at-once-wanted", "3")
        page.wait_text("members at once 1 → 3")
        page.wait_text(f"schedulearn set {group} --max-running 3")
        page.click("Change it", kind="dialog button")
        until(lambda: running() == 3, what="three members")
        self.assertEqual(lab.job(group)["spec"]["max_running"], 3)
        self.assertIn("at most 4 of its members run at once", lab.cli("set", group, "--max-running", "4").stdout)
        until(lambda: running() == 4, what="four members")
        self.assertIn("any number of its members run at once", lab.cli("set", group, "--max-running", "0").stdout)
        self.assertIn("[bad-max-running]", lab.cli("set", group, "--max-running", "-2", check=False).stderr)
        self.assertIn("[bad-max-running]", lab.cli("set", group + 1, "--max-running", "2", check=False).stderr)
        self.is_clean()

    def test_a_user_is_told_of_a_job_that_waits(self):
        page, lab = self.page, self.lab
        lab.submit("sleep 600", gpus=4)
        job = lab.submit("true", gpus=4, name="waits")
        self.open(f"jobs/{job}")
        page.click("Tell me when it starts or ends")
        page.wait_text("You have no channel yet")
        page.click("Not now", kind="dialog button")
        lab.request("PUT", "/api/v1/secrets/hook", b"https://hooks.lab.example/x")
        self.assertEqual(lab.request("PUT", "/api/v1/notifications/channels/team", {"kind": "slack", "secret": "hook"})[0], 200)
        page.click("Tell me when it starts or ends")
        page.wait_text(f"schedulearn set {job} --notify started,finished=team")
        page.click("preempted", kind="dialog label")
        page.click("Tell me", kind="dialog button")
        page.wait_text("team when started, finished, preempted")
        self.assertEqual(lab.job(job)["spec"]["notify"], [{"on": ["started", "finished", "preempted"], "to": "team"}])
        said = lab.cli("set", job, "--notify", "failed=team").stdout
        self.assertIn("team is told of it: failed", said)
        page.wait_text("team when failed")
        lab.cli("set", job, "--notify", "none=team")
        self.assertEqual(lab.job(job)["spec"]["notify"], [])
        refused = lab.cli("set", job, "--notify", "nobody", check=False)
        self.assertIn("[no-such-channel]", refused.stderr)
        self.is_clean()

    def test_what_a_job_used_is_told_and_a_card_that_fails_fails_alone(self):
        page, lab = self.page, self.lab
        job = lab.submit("sleep 2", gpus=2)
        lab.finished(job)
        page.call("Network.setBlockedURLs", urls=["*/usage*"])
        self.open(f"jobs/{job}?tab=usage")
        page.wait_text("No answer")
        page.wait_text("uninterrupted")  # the rest of the page is there
        page.call("Network.setBlockedURLs", urls=[])
        page.click("Retry")
        page.wait_text("Time in each state.")
        used = lab.get(f"/api/v1/jobs/{job}/usage")
        self.assertGreater(used["state_s"]["running"], 0.9)
        self.assertAlmostEqual(used["gpu_seconds"], 2 * used["state_s"]["running"], delta=0.5)
        self.assertEqual((used["attempts"], used["interrupted_s"], used["energy_joules"]), (1, 0, None))
        page.wait_text("not measured: no server says how much power its GPUs draw")
        self.assertIn("running", lab.cli("show", job).stdout)


if __name__ == "__main__":
    if reason := reason_to_skip():
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
