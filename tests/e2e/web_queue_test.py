"""The line on the web page: jobs are moved by mouse and by keys, and what that changes is said before it is done."""

import sys
import unittest

from lab import until
from page import PageTest, reason_to_skip


class QueueTest(PageTest):
    def setUp(self):
        super().setUp()
        lab = self.lab
        self.holds = lab.submit("sleep 600.4409", name="holds", gpus=4)
        self.jobs = [lab.submit("true", name=f"waits-{i}", gpus=4) for i in range(4)]
        until(lambda: self.line() == self.jobs, what="the line")
        self.open("jobs?tab=queue")
        self.page.wait_text("waits-3")

    def line(self):
        return [job["id"] for job in self.lab.get("/api/v1/queue")["items"]]

    def shown(self):
        return self.page.run("[...document.querySelectorAll('tbody tr td.id')].map(e => Number(e.innerText))")

    def accept(self, *texts):
        for text in texts:
            self.page.wait_text(text)
        self.page.click("Move it", kind="dialog button")
        self.page.wait("document.querySelector('dialog[open]') === null", "the dialog to close")

    def test_a_job_is_moved_by_its_arrows_and_nothing_is_done_before_it_is_confirmed(self):
        a, b, c, d = self.jobs
        page = self.page
        page.click(f"Move job {d} up")
        page.wait_text("It goes from place 4 to place 3 under the policy fifo.")
        page.wait_text(f"schedulearn set {d} --before {c}")
        page.click("Not now", kind="dialog button")
        self.assertEqual(self.line(), self.jobs)
        self.assertEqual({self.lab.job(job)["priority"] for job in self.jobs}, {0})
        page.click(f"Move job {d} up")
        self.accept("3 jobs change", "priority 0 → 1")
        until(lambda: self.line() == [a, b, d, c], what="the new line")
        page.wait(f"JSON.stringify([...document.querySelectorAll('tbody tr td.id')].map(e => Number(e.innerText))) === '{[a, b, d, c]}'.replaceAll(' ', '')")
        page.click(f"Move job {a} down")
        self.accept("It goes from place 1 to place 2")
        until(lambda: self.line() == [b, a, d, c], what="the way back")
        self.is_clean()

    def test_the_page_of_a_waiting_job_says_that_changes_are_being_tried_and_then_what_helps(self):
        address = f"jobs/{self.jobs[1]}/explain"
        later = {at: f"2126-04-05T0{hour}:00:00Z" for at, hour in (("p10", 1), ("p50", 2), ("p90", 3))}
        one_gpu = {"what": "with 1 GPU", "text": "", "server": "lab", "patch": {"gpus": 1}, "command": f"schedulearn set {self.jobs[1]} --gpus 1",
                   "predicted_start": later, "predicted_finish": later, "start_as_it_is": later, "finish_as_it_is": later}
        explained = {**self.lab.get(f"/api/v1/{address}"), "suggestions": [], "suggestions_note": "changes are being tried, which takes some seconds"}
        self.page.intercept(lambda method, asked: (200, explained) if asked == address else None)
        self.open(f"jobs/{self.jobs[1]}")
        self.page.wait_text("No suggestions yet: changes are being tried, which takes some seconds.")
        explained.update(suggestions=[one_gpu], suggestions_note=None)
        self.lab.submit("true", name="another", gpus=4)  # something happens, so the page asks again
        self.page.wait_text("What would help:")
        self.page.wait_text(f"schedulearn set {self.jobs[1]} --gpus 1")
        self.assertNotIn("No suggestions yet", self.page.text())
        self.page.intercept(None)
        self.is_clean()

    def test_a_job_is_dragged(self):
        a, b, c, d = self.jobs
        page = self.page
        point = "(() => {{ const b = document.querySelector('[data-row=\"{0}\"] {1}').getBoundingClientRect(); return {{x: b.x + b.width / 2, y: b.y + b.height * {2}}}; }})()"
        begin = page.run(point.format(3, ".handle", 0.5))
        end = page.run(point.format(1, ".name", 0.2))
        mouse = lambda kind, at, **more: page.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at, **more)
        mouse("mouseMoved", begin)
        mouse("mousePressed", begin, buttons=1)
        mouse("mouseMoved", {"x": begin["x"], "y": (begin["y"] + end["y"]) / 2}, buttons=1)
        mouse("mouseMoved", {"x": begin["x"], "y": end["y"]}, buttons=1)
        page.wait("document.querySelector('tr.target')?.dataset.row === '1'", "where it would go")
        mouse("mouseReleased", {"x": begin["x"], "y": end["y"]})
        self.accept("It goes from place 4 to place 2")
        until(lambda: self.line() == [a, d, b, c], what="the new line")
        self.is_clean()

    def test_keys_alone_move_a_job_anywhere(self):
        a, b, c, d = self.jobs
        page = self.page
        page.run("document.activeElement.blur()")
        page.key("j", "j", "K")
        page.wait_text("It goes from place 2 to place 1")
        self.assertEqual(page.run("document.querySelector('#move-to').selectedOptions[0].innerText"), f"first, before job {a} waits-0")
        page.run("document.querySelector('#move-to').value = '4'; document.querySelector('#move-to').dispatchEvent(new Event('change', {bubbles: true}))")
        page.wait_text("It goes from place 2 to place 4")
        page.run("document.querySelector('dialog button.primary').focus()")
        page.key("Enter")
        until(lambda: self.line() == [a, c, d, b], what="the new line")
        self.is_clean()

    def test_a_policy_that_does_not_go_by_priorities_says_so(self):
        self.lab.cli("policy", "set", "sjf")
        page = self.page
        page.click(f"Move job {self.jobs[1]} up")
        page.wait_text("the policy sjf")
        outcome = page.run("document.querySelector('dialog [role=status]').innerText")
        page.click("Move it", kind="dialog button")
        page.wait("document.querySelector('dialog[open]') === null")
        before = self.jobs
        after = until(lambda: self.lab.job(before[1])["priority"] == 1 and self.line(), what="the change")
        self.assertEqual(after == before, "It stays in place" in outcome, outcome)
        self.is_clean()

    def test_the_page_of_a_job_says_when_gpus_become_free(self):
        self.lab.cli("set", self.holds, "--time-limit", "20m")
        self.open(f"jobs/{self.jobs[0]}")
        self.page.wait_text(f"job {self.holds} frees 4 about")
        self.is_clean()

    def test_a_long_line_shows_its_reasons_in_windows_of_any_width(self):
        for i in range(120):
            self.lab.submit("sleep 600", gpus=4, name=f"a-training-with-a-long-name-{i}")
        page = self.page
        for width, columns in ((1920, "Waited"), (1280, "Ahead of it"), (1000, "Why, how far")):
            page.size(width, 900)
            self.open("jobs?tab=queue")
            page.wait("document.querySelector('.tall td.why') !== null", "a table of its own height")
            page.wait_text(columns)
            beyond = page.run("(([cell, box]) => cell.getBoundingClientRect().right - box.getBoundingClientRect().right)([document.querySelector('.tall td.why'), document.querySelector('.tall')])")
            self.assertLessEqual(beyond, 0, width)
            self.assertEqual(page.run("document.querySelector('.tall td.why').innerText"), "needs 4 free GPUs on one server")
        self.assertNotIn("Ahead of it", page.run("document.querySelector('.tall thead').innerText"))
        self.is_clean()

    def test_of_a_very_long_line_more_is_read_when_it_is_asked_for_and_the_reader_stays_where_he_is(self):
        more = [{"command": "true", "workdir": "/", "name": f"more-{i}", "gpus": 4} for i in range(600)]
        for at in range(0, len(more), 100):
            self.assertLess(self.lab.request("POST", "/api/v1/jobs/batch", {"jobs": more[at:at + 100]})[0], 300)
        page = self.page
        page.wait_text("The first 500 jobs in line.")
        page.run("window.gone = 0; new MutationObserver(() => { window.gone += document.querySelector('tbody td.id') === null }).observe(document.body, {childList: true, subtree: true})")
        page.click("Show more of the line")
        page.wait_text("604 jobs in line.")
        page.wait("![...document.querySelectorAll('button')].some(each => each.innerText === 'Show more of the line')", "no more to show")
        self.assertEqual(page.run("window.gone"), 0, "the list was taken away while more of it was read")
        self.is_clean()

    def test_serve_first_on_the_page_of_a_job(self):
        a, b, c, d = self.jobs
        page = self.page
        self.open(f"jobs/{d}")
        page.wait_text("Why it waits")
        page.click("Serve first")
        self.page.wait_text("It goes from place 4 to place 1 under the policy fifo.")
        page.click("Serve first", kind="dialog button")
        until(lambda: self.line() == [d, a, b, c], what="the new line")
        self.is_clean()


if __name__ == "__main__":
    if reason := reason_to_skip():
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
