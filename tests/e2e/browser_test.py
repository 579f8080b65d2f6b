"""The browser of tests presses what it means, whatever the page does meanwhile."""

import sys
import unittest

from browser import Browser
from page import reason_to_skip

PAGE = """<main><button id=above>Delete</button><br><button id=meant>Save</button><label><input id=box type=checkbox> wrap</label><a id=link href="#">There</a><input id=name></main>
<script>window.pressed = []; document.querySelectorAll('button, a').forEach(e => e.onclick = () => pressed.push(e.id))</script>"""


class DriverTest(unittest.TestCase):
    def setUp(self):
        self.browser = Browser().__enter__()
        self.addCleanup(self.browser.__exit__)
        self.page = self.browser.page(400, 300)
        self.page.open("data:text/html," + PAGE.replace("#", "%23"))

    def test_what_moves_away_under_the_mouse_is_pressed_where_it_went_and_nothing_else_is(self):
        self.page.run("""(() => { let left = 2; document.addEventListener('mousemove', () => { if (left-- > 0) document.querySelector('main').style.paddingTop = left % 2 ? '22px' : '0'; }); })()""")
        self.page.click("Save")
        self.assertEqual(self.page.run("pressed"), ["meant"])

    def test_what_is_covered_is_pressed_once_it_is_not(self):
        self.page.run("""(() => { const over = document.body.appendChild(document.createElement('div')); over.style = 'position:fixed;inset:0;background:gold'; over.onclick = () => pressed.push('over'); setTimeout(() => over.remove(), 700); })()""")
        self.page.click("Save")
        self.assertEqual(self.page.run("pressed"), ["meant"])

    def test_what_stays_covered_is_a_fault_that_names_it(self):
        self.page.run("""document.body.appendChild(document.createElement('div')).style = 'position:fixed;inset:0'""")
        with self.assertRaisesRegex(AssertionError, "Save"):
            self.page.click("Save")
        self.assertEqual(self.page.run("pressed"), [])

    def test_boxes_are_ticked_by_their_labels_links_pressed_and_fields_filled(self):
        self.page.click("wrap", kind="label")
        self.assertTrue(self.page.run("document.querySelector('#box').checked"))
        self.page.click("There")
        self.assertEqual(self.page.run("pressed"), ["link"])
        self.page.fill("#name", "mnist")
        self.assertEqual(self.page.run("document.querySelector('#name').value"), "mnist")


if __name__ == "__main__":
    if reason := reason_to_skip():
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
