import assert from 'node:assert/strict';
import test from 'node:test';
import { Lines } from './lines';

test('pieces become lines with numbers', () => {
  const lines = new Lines();
  assert.equal(lines.add('hel', false), null);
  assert.equal(lines.unfinished().text, 'hel');
  const line = lines.add('lo', true);
  assert.deepEqual([line?.number, line?.rewrites, line?.text], [1, 0, 'hello']);
  assert.deepEqual(line?.spans, [{ text: 'hello', classes: '' }]);
  assert.equal(lines.add('', true)?.text, '');
  assert.equal(lines.add('third', true)?.number, 3);
  assert.equal(lines.hasOpen, false);
});

test('a line was written when its first piece was', () => {
  const lines = new Lines();
  assert.equal(lines.add('whole', true, 5)?.written, 5);
  lines.add('cut ', false, 7);
  assert.equal(lines.unfinished().written, 7);
  assert.equal(lines.add('twice', true, 9)?.written, 7);
  assert.equal(lines.add('unknown', true)?.written, null);
});

test('a progress bar is one line, wherever its pieces are cut and on whichever side its carriage returns stand', () => {
  for (const pieces of [
    ['\r10 %', '\r20 %', '\r30 %'],
    ['10 %\r', '20 %\r', '30 %\r'],
    ['10 %\r20 %\r', '30', ' %\r'],
    ['10', ' %\r20 %', '\r', '30 %']
  ]) {
    const lines = new Lines();
    for (const piece of pieces) lines.add(piece, false);
    assert.equal(lines.unfinished().text, '30 %');
    assert.equal(lines.add('', true)?.text, '30 %');
  }
});

test('the rewrites are counted', () => {
  const lines = new Lines();
  for (let i = 0; i < 412; i += 1) lines.add(`\rstep ${i}`, false);
  assert.equal(lines.add('', true)?.rewrites, 412);
  assert.equal(lines.add('next', true)?.rewrites, 0);
});

test('looking at an open line does not change the colours of what follows', () => {
  const lines = new Lines();
  lines.add('\x1b[31mred', false);
  assert.equal(lines.unfinished().spans[0]?.classes, 't-fg1');
  assert.equal(lines.add('\x1b[0m', true)?.spans[0]?.classes, 't-fg1');
  assert.equal(lines.add('plain', true)?.spans[0]?.classes, '');
});

test('a colour goes on in the lines below until it is reset, also where those have none of their own', () => {
  const lines = new Lines();
  const made = ['\x1b[32mgreen', 'below', 'and below\x1b[0m', 'plain'].map((raw) => lines.add(raw, true));
  assert.deepEqual(
    made.map((line) => line?.spans[0]?.classes),
    ['t-fg2', 't-fg2', 't-fg2', '']
  );
  assert.deepEqual(
    made.map((line) => line?.text),
    ['green', 'below', 'and below', 'plain']
  );
});

test('raw lines show what a terminal would obey, and all that a carriage return rewrote', () => {
  const lines = new Lines(true);
  assert.equal(lines.add(' 10%\r 20%', false), null);
  const line = lines.add('\r\x1b[32mdone\x7f\u202e', true);
  assert.equal(line?.text, ' 10%␍ 20%␍␛[32mdone␡<202e>');
  assert.deepEqual(line?.spans, [{ text: line?.text, classes: '' }]);
  assert.equal(lines.add('next', true)?.number, 2);
});
