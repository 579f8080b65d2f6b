#!/usr/bin/python3
"""GET /metrics: every line is as Prometheus' text format asks for, the figures are right, and the dashboard asks for nothing else."""

import json
import pathlib
import re
import unittest

from lab import LabTest, until

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SAMPLE = re.compile(r'^([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+)\})? ([-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|Inf|NaN))$')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"')


def read(text):
    """{(name, frozenset of labels): value}, after a check of every line."""
    kinds, samples = {}, {}
    for line in text.splitlines():
        if line.startswith("# HELP "):
            _, _, name, words = line.split(" ", 3)
            assert name not in kinds and words, line
            kinds[name] = None
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name in kinds and kinds[name] is None and kind in ("gauge", "counter", "histogram", "summary"), line
            kinds[name] = kind
            family = name
        else:
            sample = SAMPLE.match(line)
            assert sample, line
            name, labels, value = sample.groups()
            suffix = name[len(family):]
            assert name.startswith(family) and suffix in {"gauge": [""], "counter": [""], "histogram": ["_bucket", "_sum", "_count"], "summary": ["", "_sum", "_count"]}[kinds[family]], line
            assert not kinds[family] == "counter" or name.endswith("_total"), line
            key = name, frozenset(LABEL.findall(labels or ""))
            assert key not in samples, line
            samples[key] = float(value)
    assert text.endswith("\n") and all(kinds.values())
    return samples, kinds


class MetricsTest(LabTest):
    def metrics(self):
        status, headers, text = self.lab.request("GET", "/metrics")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
        return read(text)

    def value(self, name, **labels):
        return self.metrics()[0].get((f"schedulearn_{name}", frozenset(labels.items())))

    def test_figures_follow_what_happens(self):
        good, bad = self.lab.submit("true"), self.lab.submit("exit 3")
        self.lab.finished(good), self.lab.finished(bad)
        long = self.lab.submit("sleep 600", gpus=3)
        self.lab.submit("sleep 600", gpus=2)
        self.lab.submit("sleep 600", gpus=2, array="0-9")
        until(lambda: self.lab.job(long)["state"] == "running")
        samples, _ = self.metrics()
        for name, labels, expected in [("jobs", {"state": "running"}, 1), ("jobs", {"state": "succeeded"}, 1), ("jobs_finished_total", {"result": "failed"}, 1), ("jobs_finished_total", {"result": "cancelled"}, 0),
                                       ("queue_gpus_wanted", {}, 2 + 10 * 2), ("job_run_seconds_count", {}, 2), ("job_wait_seconds_count", {}, 3), ("job_wait_seconds_bucket", {"le": "+Inf"}, 3), ("policy_info", {"policy": "fifo"}, 1),
                                       ("agent_up", {"server": "lab"}, 1), ("gpu_allocated", {"server": "lab", "gpu": "2", "job": str(long)}, 1), ("preemptions_total", {}, 0)]:
            self.assertEqual(samples.get((f"schedulearn_{name}", frozenset(labels.items()))), expected, (name, labels))
        self.assertGreater(self.value("http_request_seconds_count", method="POST", status="2xx"), 4)
        self.assertEqual(sum(name == "schedulearn_gpu_allocated" for name, _ in samples), 3)
        self.assertGreater(self.value("scheduler_cycle_seconds_count"), 5)
        self.lab.kill(self.lab.agent)
        until(lambda: self.value("agent_up", server="lab") == 0)

    def test_a_preempted_job_counts(self):
        self.lab.cli("policy", "set", "srtf", "--param", "preempt_margin_s=0", "--param", "min_quantum_s=0")
        long = self.lab.submit("sleep 600", gpus=4, time={"estimate": "1h"}, checkpoint={"dir": "c"})
        until(lambda: self.lab.job(long)["state"] == "running")
        self.lab.finished(self.lab.submit("true", gpus=4, time={"estimate": "1s"}))
        self.assertEqual(self.value("preemptions_total"), 1)

    def test_the_dashboard_and_the_guide_name_what_there_is(self):
        _, kinds = self.metrics()
        dashboard = json.loads((ROOT / "examples/grafana/schedulearn.json").read_text())
        asked = set()
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                asked |= set(re.findall(r"schedulearn_[a-z_]+", target["expr"]))
        known = {name + suffix for name, kind in kinds.items() for suffix in {"histogram": ["_bucket", "_sum", "_count"], "summary": ["", "_sum", "_count"]}.get(kind, [""])}
        self.assertEqual(asked - known, set())
        guide = (ROOT / "docs/guide/monitoring.md").read_text()
        for name in kinds:
            self.assertIn("`" + name.removeprefix("schedulearn_"), guide)
            self.assertTrue(any(name in one for one in asked), name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
