"""The facts that jobs, servers and traces carry: checks docs/formats/facts.md against the headers of the model.

Every field has one row and every row a field. A field is written and read somewhere outside tests, or its row says that it is open: `open: writer`, `open: reader`
or both. An open field that has become complete is a fault too, so that the mark goes.
"""

import pathlib
import re

STRUCTS = {
    "src/model/job.h": ("JobRequest", "Role", "JobModel", "SpeedSample", "JobTelemetry", "Job"),
    "src/model/server.h": ("GpuFacts", "ServerDescription", "Server"),
    "src/policy/snapshot.h": ("FinishedJob",),
    "src/trace/trace.h": ("TraceDetails",),
}
# The folders that use these structs; others have fields with the same names.
FOLDERS = ("model", "estimate", "policy", "policies", "core", "engine", "trace", "sim", "study", "controller", "python_policy", "reproduce")
# Variables with these names belong to other structs, although their fields may have the same names.
OTHERS = re.compile(r"\b(?:settings_?|report|kind|spec|row|profile)$")
# In src/wire documents have fields with the same names: there only code that names JobModel, or a variable `model` of that type, writes a fact.
IN_DOCUMENTS = r"(?:\bmodel\.{field}(?: = |\.push_back\()|<&\w+::\w+, &JobModel::{field}\b)"
TABLE = "docs/formats/facts.md"
ROW = re.compile(r"^\| `(\w+)\.(\w+)` \|(.*)\|$")
OPEN = re.compile(r"open: (writer, reader|writer|reader)")
CHANGES = r"(?:push_back|emplace_back|emplace|assign|resize|insert|add|reserve|swap|append)"


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def fields_of(header, name):
    """The data members of one struct, in order."""
    found = re.search(rf"^struct (?:alignas\(\d+\) )?{name}\b[^;{{]*\{{[ \t]*\n(.*?)^\}};", without_comments(header), re.S | re.M)
    if not found:
        raise SystemExit(f"tools/facts.py: struct {name} is not where it was")
    fields, depth = [], 0
    for line in found[1].splitlines():
        if depth == 0 and line.strip().endswith(";") and not re.match(r"\s*(friend|static|using|enum)\b", line):
            declaration = re.sub(r"\s*(=[^,;]*|\{[^}]*\})(?=[,;])", "", line.strip())
            if "(" not in declaration:
                while (shorter := re.sub(r"<[^<>]*>", "", declaration)) != declaration:
                    declaration = shorter
                first, *more = declaration.rstrip(";").split(",")
                fields += [word.split()[-1].lstrip("*&") for word in [first, *more]]
        depth += line.count("{") - line.count("}")
    return fields


def uses_of(field, sources, documents=()):
    """(is written, is read) anywhere in the sources, by the field's name alone. A copy to a field of the same name does not count as a use."""
    written = any(re.search(IN_DOCUMENTS.replace("{field}", field), text) for text in documents)
    read = False
    for text in sources:
        if field not in text:
            continue
        for use in re.finditer(rf"(?:\.|->){field}\b(?!\s*\()", text):
            if OTHERS.search(text[max(0, use.start() - 20):use.start()]):
                continue
            rest = text[use.end():use.end() + 40]
            assigned = re.match(rf"(?:\[[^\]]*\])?\s*(?:[-+|&*]?=(?!=)|\.{CHANGES}\()", rest)
            counted = re.match(r"\+\+|--", rest) or re.search(r"(?:\+\+|--)[\w.>-]*(?:\(\w+ \? [\w.]+ : [\w.]+)?$", text[max(0, use.start() - 40):use.start()])
            copied = re.search(rf"(?:\.|->){field} = [\w.>*()-]*$", text[max(0, use.start() - 80):use.start()])
            if assigned or counted:
                written = True
            elif not copied:
                read = True
    return written, read


def faults(root):
    """One sentence per fault; none if all is well."""
    root = pathlib.Path(root)
    rows = {}
    for number, line in enumerate((root / TABLE).read_text().splitlines(), 1):
        row = ROW.match(line)
        if not row:
            continue
        key = f"{row[1]}.{row[2]}"
        if key in rows:
            yield f"{TABLE}:{number}: {key} has two rows"
        rows[key] = (number, row[3])
        if any(not cell.strip() for cell in row[3].split("|")):
            yield f"{TABLE}:{number}: {key} has an empty cell"
    sources = [without_comments(path.read_text()) for folder in FOLDERS for ending in ("*.h", "*.cpp")
               for path in sorted((root / "src" / folder).rglob(ending)) if not path.stem.endswith("_test")]
    documents = [without_comments(path.read_text()) for path in sorted((root / "src" / "wire").glob("*.cpp")) if not path.stem.endswith("_test")]
    known = set()
    for header, structs in STRUCTS.items():
        text = (root / header).read_text()
        for struct in structs:
            for field in fields_of(text, struct):
                known.add(f"{struct}.{field}")
                yield from faults_of_field(f"{struct}.{field}", header, rows, uses_of(field, sources, documents))
    for key, (number, _) in rows.items():
        if key not in known:
            yield f"{TABLE}:{number}: {key} is no field of the model"


def faults_of_field(key, header, rows, uses):
    if key not in rows:
        yield f"{header}: {key} has no row in {TABLE}"
        return
    number, cells = rows[key]
    marked = OPEN.search(cells)
    missing = ", ".join(what for what, there in zip(("writer", "reader"), uses) if not there)
    if missing and not (marked and marked[1] == missing):
        yield f"{header}: {key} has no {' and no '.join(missing.split(', '))} outside tests"
    if marked and marked[1] != missing:
        yield f"{TABLE}:{number}: {key} is said to be {marked[0]}, which is not so any more"
