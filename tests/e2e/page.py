"""What tests of the web page share: a browser beside a lab, and when there is none."""

import os
import pathlib
import sys

from browser import CHROMIUM, Browser
from lab import LabTest

TOOLS = pathlib.Path(os.environ.get("SCHEDULEARN_PAGE", "build/test/web"))
DOUBLE = os.environ.get("SCHEDULEARN_NVML_DOUBLE", "build/test/nvml_double")  # GPUs with figures, one of them used by others
COLOURS = r"printf '\033[32mgreen\033[0m plain\n'"
LOSSES = """for i in 1 2 3 4; do echo "{\\"epoch\\": $i, \\"epochs\\": 4, \\"loss\\": 0.$((9 - i))}" >> $SCHEDULEARN_METRICS_FILE; sleep 0.1; done"""
LOOP = COLOURS + "; i=0; while true; do i=$((i+1)); echo tick $i; sleep 0.2; done"


class PageTest(LabTest):
    """Tests that each have their own lab and their own browser."""

    def setUp(self):
        super().setUp()
        self.browser = Browser().__enter__()
        self.addCleanup(self.browser.__exit__)
        self.page = self.browser.page()
        self.page.clock_shows(12)

    def open(self, path=""):
        self.page.open(f"{self.lab.url}/ui/{path}")
        self.page.wait_text("Live")

    def is_clean(self):
        """Nothing left the origin, nothing broke the content rules, no exception."""
        self.browser.pump(0.1)
        foreign = [url for url in self.page.requested if not url.startswith((self.lab.url + "/", "data:")) and url != "about:blank"]
        self.assertEqual(foreign, [])
        self.assertEqual(self.page.complaints, [])


def reason_to_skip():
    if b"The web page is not in this build" in (TOOLS / "page.pack").read_bytes():
        return "the page is not in this build"
    needs_browser = not all(argument.startswith("ServingTest") for argument in sys.argv[1:]) or len(sys.argv) == 1
    return "there is no chromium: tools/install test" if needs_browser and not CHROMIUM else None
