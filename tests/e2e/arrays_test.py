#!/usr/bin/python3
"""Jobs submitted as one, arrays and sweeps: their members, what people see of them and do to them, also over restarts."""

import json
import os
import resource
import subprocess
import time
import unittest

from lab import FINISHED, PROGRAM, LabTest, until

WAIT = 'until [ -e "{}" ]; do sleep 0.05; done'


def resident_bytes(process):
    with open(f"/proc/{process.pid}/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


class ArraysTest(LabTest):
    def members(self, group, state=None):
        query = f"&state={state}" if state else ""
        return sorted((job for job in self.lab.get(f"/api/v1/jobs?limit=100000&group={group}{query}")["items"]), key=lambda job: job["id"])

    def restart(self):
        self.lab.kill(self.lab.controller)
        self.lab.start_controller()

    def open(self, name):
        (self.lab.folder / name).touch()

    def test_each_member_runs_once_with_its_own_number(self):
        group = self.lab.submit("echo part {index} of $SCHEDULEARN_GROUP_ID: $SCHEDULEARN_INDEX", array="3,5-12", name="part")
        done = self.lab.finished(group)
        self.assertEqual((done["state"], done["members"]["total"], done["members"]["succeeded"]), ("succeeded", 9, 9))
        members = self.members(group)
        self.assertEqual([member["index"] for member in members], [3, *range(5, 13)])
        self.assertEqual([member["id"] for member in members], list(range(group + 1, group + 10)))
        for member in members:
            self.assertEqual((member["group_id"], member["name"]), (group, f"part-{member['index']}"))
            self.assertEqual(self.lab.output(member["id"]), f"part {member['index']} of {group}: {member['index']}\n")
        self.assertEqual(self.lab.submit("true"), group + 10)
        self.assertEqual(self.lab.cli("logs", f"{group}_7").stdout, f"part 7 of {group}: 7\n")

    def test_the_last_job_is_the_array_that_one_has_submitted(self):
        group = self.lab.submit("true", array="1-3")
        self.lab.finished(group)
        self.assertEqual(self.lab.cli("show", "last", "--json=id").stdout, f'{{"id":{group}}}\n')
        status, _, text = self.lab.request("POST", "/api/v1/jobs", {"command": "true"}, headers={"X-Schedulearn-User": "mei"})
        self.assertEqual(status, 201, text)
        self.assertEqual(self.lab.cli("show", "last", "--json=id,user").stdout.count("mei"), 0)

    def test_a_sweep_from_a_file_runs_every_combination(self):
        file = self.lab.folder / "sweep.toml"
        file.write_text('name = "lr-{lr}-{net}"\ncommand = "echo {lr} $SCHEDULEARN_MATRIX_NET {unknown}"\n[matrix]\nlr = [0.1, 0.03]\nnet = ["a", "b"]\nmax_running = 1\n')
        said = self.lab.cli("submit", file).stdout
        self.assertIn("4 members, jobs 2 to 5", said)
        self.assertEqual(self.lab.finished(1)["state"], "succeeded")
        self.assertEqual([self.lab.output(job) for job in range(2, 6)], ["0.1 a {unknown}\n", "0.1 b {unknown}\n", "0.03 a {unknown}\n", "0.03 b {unknown}\n"])
        self.assertEqual([member["name"] for member in self.members(1)], ["lr-0.1-a", "lr-0.1-b", "lr-0.03-a", "lr-0.03-b"])
        members = self.members(1)
        for before, after in zip(members, members[1:]):
            self.assertGreaterEqual(after["started_at"], before["finished_at"])
        self.lab.cli("submit", "--matrix", "lr=0.1,0.2", "--matrix", "seed=1,2,3", "--max-running", 2, "--", "echo", "{lr}", "{seed}")
        self.assertEqual(self.lab.finished(6)["members"]["succeeded"], 6)
        self.assertEqual(self.lab.output(12), "0.2 3\n")

    def test_ten_thousand_members_cost_next_to_nothing_while_they_wait(self):
        self.lab.submit("sleep 600", gpus=4)
        until(lambda: self.lab.job(1)["state"] == "running")
        before = resident_bytes(self.lab.controller)
        begin = time.monotonic()
        group = self.lab.submit("true", array="0-9999")
        took_ms = (time.monotonic() - begin) * 1e3
        for _ in range(20):
            self.lab.get("/api/v1/jobs?limit=100")
        grown = resident_bytes(self.lab.controller) - before
        print(f"10,000 members: accepted in {took_ms:.1f} ms, {grown / 10_000:.0f} bytes each", flush=True)
        self.assertLess(took_ms, 50)
        self.assertLess(grown / 10_000, 1024)
        self.assertLess(len(self.lab.jobs()), 20)
        self.assertEqual(self.lab.job(group)["members"]["waiting"], 10_000)
        self.restart()
        self.assertEqual(self.lab.job(group)["members"]["waiting"], 10_000)
        self.assertEqual(self.lab.submit("true", hold=True), group + 10_001)

    def test_people_see_one_line_and_can_look_closer(self):
        group = self.lab.submit(WAIT.format(self.lab.folder / "go") + "; echo {index}", array="0-19", name="sweep")
        until(lambda: self.lab.job(group)["members"]["running"] == 4)
        listed = self.lab.cli("ls").stdout.splitlines()
        self.assertEqual(sum("sweep" in line for line in listed), 1, listed)
        self.assertRegex(listed[1], rf"{group} +sweep .*4 running, 16 waiting: ")
        members = self.lab.cli("ls", "--group", group, "--plain").stdout.splitlines()
        self.assertEqual(len(members), 9, "running ones and those that stand in line")
        self.assertGreater(len(self.lab.cli("ls", "--members", "--plain").stdout.splitlines()), 9)
        shown = self.lab.cli("show", group).stdout
        self.assertIn("Members    4 running, 16 waiting", shown)
        late = self.lab.cli("show", f"{group}_17").stdout
        self.assertIn(f"Job {group + 18} sweep-17  ○ pending", late)
        self.assertIn(f"Member     17 of group {group}", late)
        self.assertIn(f"comes up after the members of group {group} before it", late)
        self.assertIn(f"16 of the 20 members of group {group} wait: ", self.lab.cli("why", group).stdout)
        self.assertIn(f"job {group + 18} comes up after the members of group {group} before it", self.lab.cli("why", f"{group}_17").stdout)
        for command in ("logs", "run"):
            arguments = [group] if command == "logs" else ["--array", "0-3", "--", "true"]
            refused = self.lab.cli(command, *arguments, check=False)
            self.assertIn("[group-has-no-output]", refused.stderr)
        follow = subprocess.Popen([PROGRAM, "logs", "-f", f"{group}_19"], stdout=subprocess.PIPE, text=True, env={**os.environ, "SCHEDULEARN_URL": self.lab.url})
        missing = self.lab.cli("show", f"{group}_20", check=False)
        self.assertEqual(missing.returncode, 3)
        self.assertIn(f"there is no job {group}_20 [no-such-member]", missing.stderr)
        self.open("go")
        self.assertEqual(self.lab.finished(group)["state"], "succeeded")
        self.assertEqual(follow.communicate(timeout=60)[0], "19\n", "who follows a member waits for it")

    def test_members_and_groups_can_be_cancelled_held_changed_and_retried(self):
        command = f'[ {{index}} != 2 ] || exit 1; {WAIT.format(self.lab.folder / "go")}'
        group = self.lab.submit(command, array="0-9", max_running=3, gpus=1)
        until(lambda: self.lab.job(group)["members"]["failed"] == 1)
        self.lab.cli("cancel", f"{group}_8")
        self.assertEqual(self.lab.job(group + 9)["state"], "cancelled")
        self.lab.cli("cancel", "--yes", f"{group}_5-6")
        self.assertEqual(self.lab.job(group)["members"]["cancelled"], 3)
        until(lambda: self.lab.job(group)["members"]["running"] == 3)
        self.restart()
        self.assertEqual(self.lab.job(group)["members"], {"total": 10, "waiting": 3, "running": 3, "succeeded": 0, "failed": 1, "cancelled": 3, "to_come": "4,7,9"})
        refused = self.lab.cli("set", f"{group}_9", "--priority", 3, check=False)
        self.assertIn("[member-to-come]", refused.stderr)
        self.lab.cli("set", group, "--priority", 7)
        self.lab.cli("suspend", group)
        self.assertEqual(self.lab.job(group)["state"], "held")
        self.open("go")
        until(lambda: self.lab.job(group)["members"]["succeeded"] == 3)
        self.restart()
        self.assertEqual((self.lab.job(group)["members"]["waiting"], self.lab.job(group)["state"]), (3, "held"))
        self.lab.cli("resume", group)
        done = self.lab.finished(group)
        self.assertEqual((done["state"], done["members"]["succeeded"], done["members"]["cancelled"], done["members"]["failed"]), ("failed", 6, 3, 1))
        self.assertEqual(self.lab.job(group + 10)["priority"], 7)
        self.lab.cli("retry", f"{group}_2")
        again = self.lab.jobs()[0]
        self.assertEqual((again["group_id"], self.lab.finished(again["id"])["state"]), (None, "failed"))
        self.assertEqual(self.lab.cli("wait", group, check=False).returncode, 1)

    def test_only_the_members_that_failed_are_retried(self):
        group = self.lab.submit("[ {lr}{seed} = 0.12 ] || [ -e " + str(self.lab.folder / "go") + " ] || exit 1", matrix={"lr": [0.1, 0.2], "seed": [1, 2, 3]}, max_running=2)
        self.assertEqual(self.lab.finished(group)["members"]["failed"], 5)
        said = self.lab.cli("retry", group, "--failed", "--dry-run").stdout
        self.assertIn("is submitted again as a new array of the members that failed: 0,2-5", said)
        self.open("go")
        said = self.lab.cli("retry", group, "--failed").stdout
        self.assertIn(f"job {group} again", said)
        self.assertIn(f"ls --group {group + 7} ", said)
        again = group + 7
        self.assertEqual(self.lab.finished(again)["members"], {"total": 5, "waiting": 0, "running": 0, "succeeded": 5, "failed": 0, "cancelled": 0, "to_come": ""})
        self.assertEqual([member["index"] for member in self.members(again)], [0, 2, 3, 4, 5])
        self.assertEqual(self.lab.job(f"{again}_5")["spec"]["env"]["SCHEDULEARN_MATRIX_SEED"], "3")
        for nothing in (again, f"{again}_5"):
            refused = self.lab.cli("retry", nothing, "--failed", check=False)
            self.assertEqual(refused.returncode, 5, refused.stderr)
            self.assertIn("[nothing-failed]", refused.stderr)
        self.assertEqual(self.lab.submit("true", hold=True), again + 6)

    def test_whoever_cancels_an_array_among_others_is_told_how_many_jobs_that_are(self):
        job, group = self.lab.submit("sleep 600"), self.lab.submit("sleep 600", array="0-19")
        until(lambda: self.lab.job(group)["members"]["running"] == 3)
        for chosen in (f"{job},{group}", "all"):
            self.assertIn("this would cancel 21 jobs", self.lab.cli("cancel", chosen, check=False).stderr)
        many = [self.lab.submit("true", hold=True) for _ in range(205)]
        last = self.lab.submit("sleep 600", array="0-9")
        self.assertIn("this would cancel 236 jobs", self.lab.cli("cancel", "all", check=False).stderr)
        self.lab.cli("cancel", f"{many[0]}-{last}", "--yes")
        asked = self.lab.on_terminal(80, "cancel", group, typed="n\n", status=1)
        self.assertIn("Really cancel 20 jobs?", asked)
        self.assertIn(f"{group} sleep, 3 running, 17 waiting", asked)
        self.assertEqual(self.lab.job(group)["members"]["running"], 3)
        self.lab.on_terminal(80, "cancel", job)  # one job: nothing is asked
        self.lab.cli("cancel", group)  # nor without a terminal
        self.assertEqual(self.lab.finished(group)["state"], "cancelled")

    def test_a_cancelled_group_ends_with_all_its_members(self):
        group = self.lab.submit("sleep 600", array="0-99")
        after = self.lab.submit("true", after=[group])
        either_way = self.lab.submit("true", after_any=[group])
        until(lambda: self.lab.job(group)["members"]["running"] == 4)
        self.assertIn("is being stopped", self.lab.cli("cancel", group).stdout)
        done = self.lab.finished(group)
        self.assertEqual((done["state"], done["members"]["cancelled"], done["members"]["to_come"]), ("cancelled", 100, ""))
        self.assertEqual(self.lab.finished(after)["failure"]["kind"], "dependency")
        self.assertEqual(self.lab.finished(either_way)["state"], "succeeded")
        self.assertTrue(all(member["state"] in FINISHED for member in self.members(group)))
        self.restart()
        self.assertEqual(self.lab.submit("true", hold=True), either_way + 1, "no number is given out twice")

    def test_all_members_run_over_crashes_of_the_controller(self):
        group = self.lab.submit("sleep 0.2; echo {index}", array="0-39")
        for _ in range(4):
            done = self.lab.job(group)["members"]["succeeded"]
            until(lambda: self.lab.job(group)["members"]["succeeded"] > done)
            self.restart()
        done = self.lab.finished(group)
        self.assertEqual((done["state"], done["members"]["succeeded"]), ("succeeded", 40))
        self.assertEqual([self.lab.output(group + 1 + place) for place in range(40)], [f"{place}\n" for place in range(40)])
        self.assertEqual({member["attempt"] for member in self.members(group)}, {1})

    def test_a_forecast_counts_the_members_that_wait(self):
        group = self.lab.submit("sleep 600", array="0-39", time={"estimate": "10m"})
        behind = self.lab.submit("sleep 600", time={"estimate": "10m"})

        def estimate(job):
            return self.lab.get(f"/api/v1/jobs/{job}?fresh_ms=3000")["estimate"]

        until(lambda: (estimate(group) or {}).get("finish") and (estimate(behind) or {}).get("start"))
        waits_s = (time.mktime(time.strptime(estimate(behind)["start"]["p50"][:19], "%Y-%m-%dT%H:%M:%S")) - time.mktime(time.gmtime()))
        self.assertGreater(waits_s, 40 * 600 / 4 * 0.4)
        self.assertLess(estimate(behind)["start"]["p50"], estimate(group)["finish"]["p90"])

    def test_bad_arrays_are_refused_and_change_nothing(self):
        for spec, code in [({"array": "-1"}, "bad-array"), ({"array": -1}, "bad-array"), ({"array": "a"}, "bad-array"), ({"array": "0-100000"}, "too-many-members"), ({"array": "0-1", "max_running": -1}, "bad-max-running"),
                           ({"max_running": 2}, "bad-max-running"), ({"matrix": {"lr": []}}, "bad-matrix"), ({"matrix": {"a b": [1]}}, "bad-matrix"), ({"array": "0-1", "matrix": {"lr": [1]}}, "bad-array"),
                           ({"matrix": {"a": list(range(1000)), "b": list(range(1000))}}, "too-many-members"), ({"array": "0-3", "gpus": 64}, "gpus-unsatisfiable")]:
            status, _, text = self.lab.request("POST", "/api/v1/jobs", {"command": "true", "workdir": "/", **spec})
            self.assertEqual((status, json.loads(text)["code"]), (422, code), spec)
        self.assertEqual(self.lab.jobs(), [])
        nothing = self.lab.cli("cancel", "all", check=False)
        self.assertEqual(nothing.returncode, 3)
        self.assertIn("no job waits or runs [nothing-selected]", nothing.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
