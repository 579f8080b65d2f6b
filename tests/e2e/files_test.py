#!/usr/bin/python3
"""What jobs leave on their servers: listed, fetched, removed by a rule."""

import json
import os
import subprocess
import unittest

from lab import LabTest, until

RESULTS = r"""
mkdir -p "$SCHEDULEARN_OUTPUT_DIR/deep"; head -c 700000 /dev/zero | tr '\0' w > "$SCHEDULEARN_OUTPUT_DIR/model.pt"
echo loss > "$SCHEDULEARN_OUTPUT_DIR/deep/a b.txt"; ln -s /etc/passwd "$SCHEDULEARN_OUTPUT_DIR/link"; : > "$SCHEDULEARN_OUTPUT_DIR/empty"
echo '{"step": 1}' >> "$SCHEDULEARN_METRICS_FILE"
"""


class FilesTest(LabTest):
    def setUp(self):
        super().setUp()
        self.job = self.lab.submit(RESULTS)
        self.lab.finished(self.job)
        self.here = self.lab.folder / "here"
        self.here.mkdir()

    def cli(self, *words, check=True):
        return self.lab.cli("files", self.job, *words, cwd=self.here, check=check)

    def test_they_are_listed(self):
        self.assertEqual([line.split()[0] for line in self.cli().stdout.splitlines()[1:]], ["attempt/", "checkpoints/", "output/"])
        listed = self.cli("ls", "output").stdout
        for words in ("deep/", "link@", "model.pt", "684 KiB"):
            self.assertIn(words, listed)
        items = json.loads(self.cli("ls", "output", "--json").stdout)["items"]
        self.assertEqual([(item["name"], item["kind"], item["bytes"]) for item in items],
                         [("deep", "folder", None), ("empty", "file", 0), ("link", "link", None), ("model.pt", "file", 700000)])
        self.assertIn("a b.txt", self.cli("ls", "output/deep").stdout)
        self.assertIn("metrics.jsonl", self.cli("ls", "attempt").stdout)

    def test_all_results_are_fetched_and_links_are_not_followed(self):
        done = self.cli("get")
        self.assertIn("3 files, 684 KiB in job-%d" % self.job, done.stdout)
        self.assertIn("left out 1 that is neither file nor folder", done.stderr)
        top = self.here / f"job-{self.job}" / "output"
        self.assertEqual((top / "model.pt").read_bytes(), b"w" * 700000)
        self.assertEqual((top / "deep" / "a b.txt").read_text(), "loss\n")
        self.assertEqual(sorted(path.name for path in top.iterdir()), ["deep", "empty", "model.pt"])
        refused = self.cli("get", check=False)
        self.assertEqual(refused.returncode, 5)
        self.assertIn("[file-exists]", refused.stderr)
        self.cli("get", "--force", "-q")

    def test_what_cannot_be_fetched_keeps_nothing_else_from_being_fetched(self):
        name = "n" * 50
        deep = self.lab.submit(f"""cd $SCHEDULEARN_OUTPUT_DIR && echo first > a && echo last > zzz && touch "$(printf 'two\\nlines')"
for i in $(seq 90); do mkdir {name} && cd {name} || exit 1; done; touch bottom""")
        self.assertEqual(self.lab.finished(deep)["state"], "succeeded", self.lab.output(deep))
        got = self.lab.cli("files", deep, "get", cwd=self.here, check=False)
        self.assertNotEqual(got.returncode, 0)
        self.assertIn("note: not fetched: output/" + name, got.stderr)
        self.assertEqual((self.here / f"job-{deep}" / "output" / "zzz").read_text(), "last\n")
        self.assertIn("two^Jlines", self.lab.cli("files", deep, "ls", "output").stdout)

    def test_one_file_is_fetched_into_a_folder(self):
        self.cli("get", "output/deep/a b.txt", "-o", "there")
        self.assertEqual((self.here / "there" / "output" / "deep" / "a b.txt").read_text(), "loss\n")
        status, headers, text = self.lab.request("GET", f"/api/v1/jobs/{self.job}/files?path=output/model.pt", headers={"Range": "bytes=10-19"})
        self.assertEqual((status, text, headers["Content-Disposition"]), (206, "w" * 10, "attachment"))

    def test_a_file_is_listed_as_it_is_in_its_folder(self):
        of_folder = next(line for line in self.cli("ls", "output").stdout.splitlines() if "model.pt" in line)
        title, listed = self.cli("ls", "output/model.pt").stdout.splitlines()
        self.assertEqual(listed.split(), ["output/model.pt", *of_folder.split()[1:]])
        self.assertEqual(self.cli("ls", "output/deep/a b.txt", "--plain").stdout.split("\t")[:2], ["output/deep/a b.txt", "5 B"])
        self.assertEqual(json.loads(self.cli("ls", "output/empty", "--json").stdout)["kind"], "file")

    def test_only_what_is_fetched_is_written(self):
        pair = self.lab.submit('cd "$SCHEDULEARN_OUTPUT_DIR" && echo whole > a && echo part > a.part && touch "$(printf \'esc\\033[31m\\nline\')"')
        self.lab.finished(pair)
        top = self.here / f"job-{pair}" / "output"
        top.mkdir(parents=True)
        (self.here / "mine").write_text("mine\n")
        (top / "zzz.part").write_text("mine\n")
        (top / "model.pt.part").symlink_to(self.here / "mine")
        got = self.lab.cli("files", pair, "get", cwd=self.here)
        self.assertEqual(((top / "a").read_text(), (top / "a.part").read_text(), (top / "zzz.part").read_text()), ("whole\n", "part\n", "mine\n"))
        self.assertIn("esc^[[31m^Jline", got.stderr)
        self.assertNotIn("\033", got.stderr)
        self.lab.cli("files", self.job, "get", "output/model.pt", "-o", f"job-{pair}", cwd=self.here)
        self.assertEqual(((self.here / "mine").read_text(), (top / "model.pt.part").is_symlink()), ("mine\n", True))
        self.assertEqual([path.name for path in top.iterdir() if path.name.startswith(".")], [])
        again = self.lab.cli("files", pair, "get", cwd=self.here, check=False)
        self.assertEqual([line for line in again.stderr.splitlines() if line.startswith("line")], [], "a name is one line")
        refused = self.lab.cli("files", pair, "get", "-o", "-", cwd=self.here, check=False)
        self.assertEqual((refused.returncode, (self.here / "-").exists()), (2, False), refused.stderr)

    def test_what_cannot_be_had(self):
        for words, code, status in ((("ls", "../../.."), "no-such-file", 3), (("get", "output/link"), "no-such-file", 3), (("get", "output/nothing"), "no-such-file", 3),
                                    (("ls", "output", "--attempt", "9"), "no-files", 3), (("put",), "usage", 2)):
            refused = self.cli(*words, check=False)
            self.assertEqual(refused.returncode, status, refused.stderr)
            self.assertIn(code if code != "usage" else "put", refused.stderr)
        group = self.lab.submit("true", array="0-1")
        refused = self.lab.cli("files", group, check=False)
        self.assertIn("[group-has-no-files]", refused.stderr)
        self.lab.kill(self.lab.agent)
        until(lambda: "[server-unreachable]" in self.cli(check=False).stderr, what="the end of the session")

    def test_they_go_when_the_disk_is_too_full_and_this_is_said(self):
        self.lab.kill(self.lab.agent)
        self.lab.start_agent("--keep-free", "900TiB")
        self.assertIn("while 900 TiB of the disk are free", self.lab.cli("status").stdout)
        until(lambda: "job.files_removed" in self.lab.cli("events", self.job).stdout, 90, what="the removal")
        refused = self.cli(check=False)
        self.assertIn("[output-removed]", refused.stderr)
        self.assertIn("less free space", refused.stderr)
        self.assertEqual(list(self.lab.folder.glob(f"agent/jobs/{self.job}.*")), [])


class OtherUserTest(LabTest):
    @unittest.skipUnless(os.geteuid() == 0, "needs root to be somebody else")
    def test_files_are_shown_to_their_user_and_to_admins_only(self):
        mine = self.lab.submit(RESULTS)
        self.lab.finished(mine)
        token = (self.lab.folder / "controller" / "token").read_text().strip()
        program = f"import urllib.request as u\ntry: print(u.urlopen(u.Request('{self.lab.url}/api/v1/jobs/{mine}/files', headers={{'Authorization': 'Bearer {token}'}})).status)\nexcept Exception as e: print(e.code, e.read().decode())"
        said = subprocess.run(["/usr/bin/python3", "-c", program], user="nobody", capture_output=True, text=True, cwd="/").stdout
        self.assertTrue(said.startswith("403") and "not-your-job" in said, said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
