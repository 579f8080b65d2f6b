import assert from 'node:assert/strict';
import test from 'node:test';
import { bodyOf, bodyOfSpec, commandLineOf, draftOf, emptyDraft, faultsIn, items, tomlOf } from './draft';
import type { JobSpec } from './types';

const draft = {
  ...emptyDraft,
  name: 'a "b"',
  command: "echo 'x'",
  gpus: '1..4',
  limit: '2h',
  checkpoint: 'ckpt',
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
    commandLineOf(bodyOf(draft)),
    `schedulearn submit --name 'a "b"' --gpus 1..4 --env A=1 --env B=x=y --priority 5 --time-limit 2h --checkpoint-dir ckpt -- bash -c 'echo '\\''x'\\'''`
  );
  assert.equal(
    tomlOf(bodyOf(draft)),
    [
      'command = "echo \'x\'"',
      'name = "a \\"b\\""',
      'gpus = "1..4"',
      'priority = 5',
      '',
      '[env]',
      'A = "1"',
      'B = "x=y"',
      '',
      '[time]',
      'limit = "2h"',
      '',
      '[checkpoint]',
      'dir = "ckpt"'
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
    checkpoint: { dir: null, signal: 'TERM', grace_s: 120 },
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

// As the controller has it, of what is not by default.
const specOf = (spec: object): JobSpec => ({ command: 'true', gpus: { min: 1, max: 1 }, ...spec }) as unknown as JobSpec;

test('a job file and a command line mean what a specification says, whatever is in it', () => {
  const spec = specOf({ command: ['python', 't.py', "it's"], env: { NOTE: "it's\n2 lines", B: ' x=y ' }, resources: { gpu_type: ['2080'] } });
  assert.equal(
    tomlOf(bodyOfSpec(spec)),
    ['command = ["python", "t.py", "it\'s"]', 'gpus = 1', '', '[env]', 'NOTE = "it\'s\\n2 lines"', 'B = " x=y "', '', '[resources]', 'gpu_type = ["2080"]'].join('\n')
  );
  assert.equal(
    commandLineOf(bodyOfSpec(spec)),
    "schedulearn submit --gpus 1 --env 'NOTE=it'\\''s\n2 lines' --env 'B= x=y ' --gpu-type 2080 -- python t.py 'it'\\''s'"
  );
});

test('a value of several lines stays one in the form', () => {
  const env = { NOTE: "it's\n2=lines", DOS: 'a\r\nb', B: '2' };
  const template = draftOf(specOf({ env }));
  assert.equal(template['env'], "NOTE=it's↵2=lines\nDOS=a␍↵b\nB=2");
  assert.deepEqual(faultsIn(template), {});
  assert.deepEqual(bodyOf(template)['env'], env);
});

test('only jobs to wait for are named by numbers', () => {
  const digits = { ...emptyDraft, command: 'true', secrets: '1', gpu_type: '2080, A100', on: '7', not_on: '8', mounts: '9', after: '5', after_any: '6, train' };
  assert.deepEqual(bodyOf(digits), {
    command: 'true',
    gpus: 1,
    secrets: ['1'],
    mounts: ['9'],
    resources: { gpu_type: ['2080', 'A100'], on: ['7'], not_on: ['8'] },
    after: [5],
    after_any: [6, 'train']
  });
});

const many = {
  ...emptyDraft,
  command: 'true',
  secrets: 'wandb, WANDB_API_KEY=wandb',
  labels: 'team=a b',
  cpus: '4',
  memory: '8GiB',
  gpu_type: 'A100, H100',
  share: 'true',
  deadline: '8h',
  after: '5, 7',
  matrix: 'lr=0.1, 0.01',
  no_preempt: 'true',
  resize: 'in_place',
  notify: 'team\nfailed,preempted=mail:me@lab.example'
};

test('all that a job file can say can be asked for', () => {
  assert.deepEqual(bodyOf(many), {
    command: 'true',
    gpus: 1,
    secrets: ['wandb', 'WANDB_API_KEY=wandb'],
    labels: { team: 'a b' },
    resources: { cpus: 4, memory: '8GiB', gpu_type: ['A100', 'H100'], share: true },
    time: { deadline: '8h' },
    after: [5, 7],
    matrix: { lr: ['0.1', '0.01'] },
    preemptible: false,
    resize: 'in_place',
    notify: [{ to: 'team' }, { on: ['failed', 'preempted'], to: 'mail:me@lab.example' }]
  });
  assert.equal(
    commandLineOf(bodyOf(many)),
    "schedulearn submit --gpus 1 --secret wandb --secret WANDB_API_KEY=wandb --label 'team=a b' --cpus 4 --memory 8GiB --gpu-type A100,H100 --share --set time.deadline=8h --after 5,7 --matrix lr=0.1,0.01 --resize in_place --no-preempt --notify team --notify failed,preempted=mail:me@lab.example -- bash -c true"
  );
  assert.match(tomlOf(bodyOf(many)), /^notify = \[\{ to = "team" \}, \{ on = \["failed", "preempted"\], to = "mail:me@lab.example" \}\]$/m);
});

test('roles and ports have lines of their own, in the form and back', () => {
  const gang = {
    ...emptyDraft,
    command: 'true',
    gpus: '',
    roles: 'server gpus=0 cpus=4 memory=8GiB\nworker count=4 count_min=1',
    ports: 'board=0\nnotebook=8888 keep_path',
    retry_on: 'exit:3, signal',
    weight: '0.5',
    'training.target_loss': '0.3',
    'training.model_bytes': '4MiB'
  };
  assert.deepEqual(bodyOf(gang), {
    command: 'true',
    ports: { board: 0, notebook: { port: 8888, keep_path: true } },
    weight: 0.5,
    roles: [
      { name: 'server', gpus: 0, resources: { cpus: 4, memory: '8GiB' } },
      { name: 'worker', count: 4, count_min: 1 }
    ],
    training: { target_loss: 0.3, model_bytes: '4MiB' },
    retry: { on: ['exit:3', 'signal'] }
  });
  assert.match(commandLineOf(bodyOf(gang)), / --set 'ports=\{"board":0,.*\}' --weight 0\.5 --set 'roles=\[.*\]' --target-loss 0\.3 /);
  assert.match(commandLineOf(bodyOf(gang)), / --set 'retry\.on=\["exit:3","signal"\]' -- /);
  const back = draftOf({
    command: 'true',
    gpus: { min: 1, max: 4 },
    resources: { cpus: 4, memory_bytes: 8 },
    roles: [
      { name: 'server', count: 1, count_min: 1, gpus: 0, resources: { cpus: 4, memory_bytes: 8 } },
      { name: 'worker', count: 4, count_min: 1, gpus: 1, resources: { cpus: null, memory_bytes: null } }
    ],
    ports: { board: { port: 0, keep_path: false }, notebook: { port: 8888, keep_path: true } },
    retry: { max: 2, on: ['any'] },
    user: 'mei'
  } as unknown as JobSpec);
  assert.equal(back['roles'], 'server gpus=0 cpus=4 memory=8\nworker count=4 count_min=1');
  assert.equal(back['ports'], 'board=0\nnotebook=8888 keep_path');
  assert.deepEqual([back['gpus'], back['cpus'], back['memory'], back['user'], back['retry_on'], back['retries']], ['', '', '', '', '', '2']);
});

test('a time is that of this browser, and in the job and its command that of no place', () => {
  const late = { ...emptyDraft, command: 'true', not_before: '2026-11-29T21:00' };
  const at = new Date(2026, 10, 29, 21).toISOString().replace('.000Z', 'Z');
  assert.equal(bodyOf(late)['not_before'], at);
  assert.equal(commandLineOf(bodyOf(late)), `schedulearn submit --gpus 1 --not-before ${at} -- bash -c true`);
  const back = draftOf({ command: 'true', gpus: { min: 1, max: 1 }, not_before: at } as unknown as JobSpec);
  assert.equal(back['not_before'], '2026-11-29T21:00');
});

test('what the page and a command would each take for something else is refused at its field', () => {
  assert.deepEqual(faultsIn(many), {});
  assert.deepEqual(faultsIn({ ...draft, env: 'A=1\nB=' }), {});
  const typed = { env: 'A=1\nFOO', labels: 'x', ports: '8888', matrix: '=1', workdir: 'relative/x' };
  const faults = faultsIn({ ...emptyDraft, ...typed });
  assert.deepEqual(Object.keys(faults).sort(), Object.keys(typed).sort());
  assert.equal(faults['env'], 'write NAME=VALUE: "FOO" gives no value to a name');
  assert.equal(faults['workdir'], 'write the whole path, beginning with /');
});

test('every item has a place of its own', () => {
  for (const list of [items.map(({ key }) => key), items.map(({ path }) => path.join('.'))])
    assert.equal(new Set(list).size, list.length);
});
