#!/usr/bin/env python3
"""Plants the faults of mutants.toml, one at a time, and sees that each is found.

    mutants.py check                     every text is in its file exactly once, and the table in README.md is the list
    mutants.py table                     that table
    mutants.py run --build DIR [NAME]…   builds a copy of the tree below DIR with each fault, and looks for it

Exit status 0: as it should be; 1: otherwise.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import time
import tomllib

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent
find_within_s = 60


def read_mutants():
    mutants = tomllib.loads((here / 'mutants.toml').read_text())['mutant']
    assert len({m['name'] for m in mutants}) == len(mutants), 'two mutants have the same name'
    return mutants


def finder(mutant):
    target, _, test = mutant['found_by'].partition(' ')
    return ('schedulearn-dst', '') if target == 'dst' else (target, test)


# ---- check ----

def table_of(mutants):
    rows = ['| name | fault | found by |', '|---|---|---|']
    for m in mutants:
        target, test = finder(m)
        rows.append(f"| `{m['name']}` | {m['fault']} | {'`' + test + '`' if test else 'histories'} |")
    return '\n'.join(rows) + '\n'


def check(mutants):
    faults = []
    for m in mutants:
        path = root / m['file']
        times = path.read_text().count(m['find']) if path.exists() else 0
        if times != 1:
            faults.append(f"{m['name']}: its text is {times} times in {m['file']}")
        target, test = finder(m)
        suite, _, name = test.partition('.')
        name = name.removesuffix('/*')  # of a parameterised test
        if test and not any(f' {name})' in p.read_text() for p in (root / 'src').rglob('*_test.cpp')):
            faults.append(f"{m['name']}: there is no test {test}")
    if table_of(mutants) not in (here / 'README.md').read_text():
        faults.append('the table in README.md is another one: mutants.py table')
    return faults


# ---- run ----

def copy_tree(to):
    """What a build needs, as it is now, changed or not."""
    listed = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard', '-z'], cwd=root, check=True,
                            capture_output=True, text=True).stdout
    for name in filter(None, listed.split('\0')):
        source, copy = root / name, to / name
        if not source.is_file():
            continue
        if copy.exists() and copy.read_bytes() == source.read_bytes():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)


def build(tree, targets):
    done = subprocess.run(['ninja', '-C', tree / 'build/test', *targets], capture_output=True, text=True)
    return '' if done.returncode == 0 else done.stdout[-3000:]


def look(tree, mutant):
    """What has found the fault; empty: nothing."""
    target, test = finder(mutant)
    program = tree / 'build/test/bin' / target
    command = [program, f'--gtest_filter={test}'] if test else [program, '--seeds', '1..1000000000', '--for',
                                                                  str(find_within_s)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors='replace', timeout=2 * find_within_s)
    except subprocess.TimeoutExpired:
        return 'a history that does not end'
    if done.returncode < 0:
        return next((line for line in done.stderr.splitlines() if line), 'it ends by a signal')
    if done.returncode != 1:
        return ''
    lines = [line for line in done.stdout.splitlines() if line.startswith('VIOLATION') or '[  FAILED  ]' in line]
    return lines[0] if lines else ''


def run(mutants, folder):
    tree = folder.resolve() / 'mutants'
    copy_tree(tree)
    subprocess.run(['cmake', '--preset', 'test'], cwd=tree, check=True, stdout=subprocess.DEVNULL)
    missed = []
    for m in mutants:
        path, begin = tree / m['file'], time.monotonic()
        original = path.read_text()
        path.write_text(original.replace(m['find'], m['replace']))
        failed = build(tree, [finder(m)[0]])
        built_s, begin = time.monotonic() - begin, time.monotonic()
        found = '' if failed else look(tree, m)
        path.write_text(original)
        if not found:
            missed.append(m['name'])
        print(f"{m['name']:30} {'MISSED' if not found else 'found'} after {time.monotonic() - begin:.1f} s "
              f"(build {built_s:.0f} s): {failed or found or 'nothing noticed'}", flush=True)
    print(f'{len(mutants) - len(missed)} of {len(mutants)} faults found' + (f', missed: {" ".join(missed)}' if missed else ''))
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('what', choices=['check', 'table', 'run'])
    parser.add_argument('names', nargs='*')
    parser.add_argument('--build', type=pathlib.Path, default=root / 'build')
    options = parser.parse_intermixed_args()
    mutants = read_mutants()
    unknown = set(options.names) - {m['name'] for m in mutants}
    if unknown:
        parser.error('no mutant is called ' + ' '.join(sorted(unknown)))
    if options.what == 'table':
        print(table_of(mutants), end='')
        return 0
    faults = check(mutants)
    for fault in faults:
        print(fault)
    if faults or options.what == 'check':
        return 1 if faults else 0
    return 1 if run([m for m in mutants if not options.names or m['name'] in options.names], options.build) else 0


if __name__ == '__main__':
    sys.exit(main())
