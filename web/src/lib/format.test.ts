import assert from 'node:assert/strict';
import test from 'node:test';
import {
  bytes,
  clock,
  commandLine,
  commandText,
  documentIn,
  withOwnTimes,
  duration,
  expectedStart,
  gpuRange,
  likely,
  place,
  plural,
  progressText,
  tickTime,
  percentDecoded,
  quoted,
  ranges,
  soon,
  times
} from './format';
import type { Job } from './types';

test('durations are what a person would write', () => {
  const cases: [number | null, string][] = [
    [null, '–'],
    [NaN, '–'],
    [0, '0 s'],
    [0.0042, '4 ms'],
    [3, '3 s'],
    [3.14, '3.1 s'],
    [59.4, '59 s'],
    [60, '1 min'],
    [61, '1 min 1 s'],
    [600, '10 min'],
    [3600, '1 h'],
    [5400, '1 h 30 min'],
    [200_000, '2 d 7 h'],
    [-5, '0 s']
  ];
  for (const [seconds, text] of cases) assert.equal(duration(seconds), text);
});

test('when a job would start: at once, about when, or not known', () => {
  times.areUtc = true;
  const now = new Date('2026-11-24T12:00:00Z');
  const range = (minutes: number): { p10: string; p50: string; p90: string } => ({
    p10: now.toISOString(),
    p50: new Date(now.getTime() + minutes * 30_000).toISOString(),
    p90: new Date(now.getTime() + minutes * 60_000).toISOString()
  });
  const start = (minutes: number | null): string =>
    expectedStart({ start: minutes === null ? null : range(minutes), evaluated_at: now.toISOString() }, now);
  assert.equal(start(0.05), 'at once');
  assert.equal(start(1), 'about 12:00:30 UTC (12:00:00 UTC to 12:01:00 UTC)');
  assert.equal(start(10), 'about 12:05:00 UTC (12:00:00 UTC to 12:10:00 UTC)');
  assert.equal(start(null), '–');
  times.areUtc = false;
});

test('sizes, numbers, GPUs', () => {
  assert.equal(bytes(0), '0 B');
  assert.equal(bytes(1536), '1.5 KiB');
  assert.equal(bytes(200 * 1024 ** 3), '200 GiB');
  assert.equal(plural(1, 'job'), '1 job');
  assert.equal(plural(12345, 'job'), '12,345 jobs');
  assert.equal(ranges([3, 0, 1, 2, 6]), '0-3,6');
  assert.equal(gpuRange({ min: 1, max: 4 }), '1–4');
  assert.equal(gpuRange({ min: 1, max: 4, allowed: [1, 2, 4] }), '1, 2, 4');
});

test('the day of a time is told unless it is today', () => {
  const now = new Date(2026, 3, 5, 12, 0, 0);
  assert.equal(clock(new Date(2026, 3, 5, 9, 8, 7).toISOString(), now), '09:08:07');
  assert.equal(clock(new Date(2026, 3, 4, 9, 8, 7).toISOString(), now), '2026-04-04 09:08:07');
});

test('ticks of an axis name the day when it changes', () => {
  const at = (...parts: [number, number, number, number, number?]): number => new Date(...parts).getTime();
  assert.equal(tickTime(at(2026, 10, 24, 21), at(2026, 10, 24, 18)), '21:00');
  assert.equal(tickTime(at(2026, 10, 25, 0), at(2026, 10, 24, 21)), '11-25 00:00');
  assert.equal(tickTime(new Date(2026, 10, 25, 3, 0, 30).getTime(), at(2026, 10, 25, 0)), '03:00:30');
});

test('names of files are read as far as they can be', () => {
  assert.equal(percentDecoded('%C3%A4%20b'), 'ä b');
  assert.equal(percentDecoded('%FF'), '%FF');
});

test('words are quoted as a shell needs it', () => {
  assert.equal(quoted('a b'), "'a b'");
  assert.equal(quoted("it's"), "'it'\\''s'");
  assert.equal(quoted('x=1'), 'x=1');
  assert.equal(quoted('$(rm -rf .)'), "'$(rm -rf .)'");
  assert.equal(commandText(['python', 'a b.py']), "python 'a b.py'");
});

test('a range says what is likely and between which times', () => {
  const now = new Date(2026, 10, 23, 9, 0, 0);
  const at = (hour: number): string => new Date(2026, 10, 23, hour, 30, 0).toISOString();
  assert.equal(likely({ p10: at(10), p50: at(11), p90: at(14) }, now), 'about 11:30 (10:30 to 14:30)');
  assert.equal(likely(null, now), null);
  const after = (minutes: number): string => soon(new Date(now.getTime() + minutes * 60_000).toISOString(), now);
  assert.equal(after(9.5), '09:09:30');
  assert.equal(after(10.5), '09:10');
  assert.equal(after(24 * 60), '11-24 09:00');
  assert.equal(after(60 * 24 * 60), '2027-01-22 09:00');
});

test('times are local, or UTC if that was chosen', () => {
  process.env.TZ = 'Asia/Tokyo';
  const now = new Date('2026-04-05T01:00:00Z');
  assert.equal(clock('2026-04-05T00:30:00Z', now), '09:30:00');
  assert.equal(clock('2026-04-04T20:00:00Z', now), '05:00:00'); // the same day there
  times.areUtc = true;
  assert.equal(clock('2026-04-05T00:30:00Z', now), '00:30:00 UTC');
  assert.equal(clock('2026-04-04T20:00:00Z', now), '2026-04-04 20:00:00 UTC');
  times.areUtc = false;
});

test('progress is counted in its unit', () => {
  const progress = { rate_per_s: null, updated_at: null };
  assert.equal(progressText({ ...progress, done: 44.04, total: 300, unit: 'epoch' }), '44 of 300 epochs');
  assert.equal(progressText({ ...progress, done: 0.5, total: 1, unit: 'epoch' }), '0.5 of 1 epoch');
  assert.equal(progressText({ ...progress, done: 7, total: null, unit: 'steps' }), '7 steps');
  assert.equal(progressText({ ...progress, done: 7, total: 9, unit: null }), '7 of 9');
});

test('a place names its GPUs, or the server alone', () => {
  const on = (gpus: string[]): Job => ({ placement: [{ server: 'gpu3', gpus }] }) as unknown as Job;
  assert.equal(place(on(['gpu3-0', 'gpu3-1'])), 'gpu3:0-1');
  assert.equal(place(on([])), 'gpu3');
});

test('times in the sentences of the controller are those of the page', () => {
  const day = '2026-04-05';
  const now = new Date(`${day}T10:00:00Z`);
  const local = (at: string): string => clock(at, now);
  const drained = `drained since 08:30:00 UTC: new PSU until ${day} 15:00:11 UTC`;
  assert.equal(withOwnTimes(drained, now), `drained since ${local(`${day}T08:30:00Z`)}: new PSU until ${local(`${day}T15:00:11Z`)}`);
  const answer = JSON.stringify({ summary: `${day} 08:30:00 UTC`, reason: { code: 'x', text: `${day} 08:30:00 UTC` }, text: `${day} 08:30:00 UTC` });
  const shown = documentIn<{ summary: string; reason: { text: string }; text: string }>(answer);
  assert.equal(shown.summary, shown.reason.text);
  assert.equal(shown.text, `${day} 08:30:00 UTC`, 'somebody else wrote that');
});

test('signs that turn the direction are shown, but in what may be submitted again', () => {
  const text = '{"name": "evil\u202egnp", "on": ["a\u2066b"], "n": 1, "none": null, "spec": {"command": "echo \u202e"}}';
  assert.deepEqual(documentIn(text), { name: 'evil\\u202Egnp', on: ['a\\u2066b'], n: 1, none: null, spec: { command: 'echo \u202e' } });
  assert.deepEqual(documentIn('{"name": "plain"}'), { name: 'plain' });
});

test('what stood in an address or was typed is one word of a command, whatever it is', () => {
  assert.equal(commandLine('servers', 'show', 'gpu3'), 'schedulearn servers show gpu3');
  assert.equal(commandLine('servers', 'show', 'a;touch x'), "schedulearn servers show 'a;touch x'");
  assert.equal(commandLine('policy', 'try', 'a;id', '$(id)'), "schedulearn policy try 'a;id' '$(id)'");
  assert.equal(commandLine('set', 5, '--notify', ''), "schedulearn set 5 --notify ''");
});
