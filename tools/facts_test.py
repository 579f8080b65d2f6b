#!/usr/bin/python3
"""facts.py finds the faults it is meant to find."""

import pathlib
import tempfile
import unittest

import facts

MODEL = """
struct Thing {  // with a comment
  std::optional<int> size, size_max;
  std::vector<std::pair<int, int>> parts;
  double weight = 1;  // ; not the end
  bool is_big() const { return size > 3; }
  friend bool operator==(const Thing&, const Thing&) = default;
};
"""
SOURCE = """
void write(Thing& t) { t.size = 1, t.size_max = 2, t.parts.push_back({1, 2}), t.weight += 2; }
int read(const Thing& t) { return t.size + t->size_max + t.parts.size() + t.weight; }
"""
ROWS = {"size": "1", "size_max": "size", "parts": "none", "weight": "1"}


class FactsTest(unittest.TestCase):
    def faults(self, model=MODEL, source=SOURCE, rows=ROWS):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs/formats").mkdir(parents=True)
            (root / "src/model").mkdir(parents=True)
            (root / facts.TABLE).write_text("".join(f"| `Thing.{field}` | – | a | b | {without} |\n" for field, without in rows.items()))
            (root / "src/model/thing.h").write_text(model)
            (root / "src/model/thing.cpp").write_text(source)
            (root / "src/model/thing_test.cpp").write_text("int x = t.unread; t.unwritten = 1;")
            kept, facts.STRUCTS = facts.STRUCTS, {"src/model/thing.h": ("Thing",)}
            try:
                return list(facts.faults(root))
            finally:
                facts.STRUCTS = kept

    def test_a_complete_table_has_no_fault(self):
        self.assertEqual(self.faults(), [])

    def test_a_field_without_a_row_and_a_row_without_a_field_are_faults(self):
        self.assertEqual(self.faults(rows={**ROWS, "colour": "red"}), ["docs/formats/facts.md:5: Thing.colour is no field of the model"])
        self.assertEqual(self.faults(rows={field: row for field, row in ROWS.items() if field != "parts"}), ["src/model/thing.h: Thing.parts has no row in docs/formats/facts.md"])
        self.assertEqual(self.faults(rows={**ROWS, "size": ""}), ["docs/formats/facts.md:1: Thing.size has an empty cell"])

    def test_a_field_that_only_tests_write_or_read_is_a_fault(self):
        model = MODEL.replace("double weight = 1;", "double weight = 1; \n int unread = 0;\n int unwritten = 0;")
        source = SOURCE + "void more(Thing& t) { t.unread = 1; other.unread = t.unread; if (t.unwritten == 1) return; }"
        rows = {**ROWS, "unread": "0", "unwritten": "0"}
        self.assertEqual(self.faults(model, source, rows), ["src/model/thing.h: Thing.unread has no reader outside tests", "src/model/thing.h: Thing.unwritten has no writer outside tests"])
        self.assertEqual(self.faults(model, source, {**ROWS, "unread": "0 (open: reader)", "unwritten": "0 (open: writer)"}), [])

    def test_a_mark_that_is_no_longer_true_is_a_fault(self):
        self.assertEqual(self.faults(rows={**ROWS, "size": "1 (open: writer)"}), ["docs/formats/facts.md:1: Thing.size is said to be open: writer, which is not so any more"])


if __name__ == "__main__":
    unittest.main()
