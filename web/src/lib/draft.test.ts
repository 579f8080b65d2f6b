import assert from 'node:assert/strict';
import test from 'node:test';
import { bodyOf, commandLineOf, draftOf, emptyDraft, tomlOf } from './draft';
import type { JobSpec } from './types';

const draft = {
  ...emptyDraft,
  name: 'a "b"',
  command: "echo 'x'",
  gpus: '1..4',
  time_limit: '2h',
  checkpoint_dir: 'ckpt',
  env: 'A=1\n\nB=x=y\n',
  priority: '5'
};

test('a form becomes the keys of a job file', () => {
  assert.deepEqual(bodyOf(draft), {
    name: 'a "b"',
    command: "echo 'x'",
    gpus: '1..4',
    priority: 5,
    time: { limit: '2h' },
    checkpoint: { dir: 'ckpt' },
    env: { A: '1', B: 'x=y' }
  });
  assert.deepEqual(bodyOf({ ...emptyDraft, command: 'true' }), { command: 'true', gpus: 1 });
});

test('the same as a command and as a file', () => {
  assert.equal(
    commandLineOf(draft),
    `schedulearn submit --name 'a "b"' --gpus 1..4 --priority 5 --time-limit 2h --checkpoint-dir ckpt --env A=1 --env B=x=y -- bash -c 'echo '\\''x'\\'''`
  );
  assert.equal(
    tomlOf(draft),
    [
      'command = "echo \'x\'"',
      'name = "a \\"b\\""',
      'gpus = "1..4"',
      'priority = 5',
      '',
      '[time]',
      'limit = "2h"',
      '',
      '[checkpoint]',
      'dir = "ckpt"',
      '',
      '[env]',
      'A = "1"',
      'B = "x=y"'
    ].join('\n')
  );
});

test('a job can be the template of another', () => {
  const spec = {
    name: 'n',
    command: ['python', 't.py'],
    framework: null,
    image: null,
    gpus: { min: 1, max: 2 },
    workdir: '/w',
    launch: 'none',
    priority: 0,
    time_limit_s: 90,
    estimate_s: null,
    checkpoint: { dir: null, signal: 'TERM', grace_s: 1 },
    env: { A: '1' }
  } as unknown as JobSpec;
  assert.deepEqual(bodyOf(draftOf(spec)), {
    command: 'python t.py',
    name: 'n',
    workdir: '/w',
    gpus: '1..2',
    time: { limit: '90s' },
    env: { A: '1' }
  });
});
