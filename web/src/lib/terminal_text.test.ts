import assert from 'node:assert/strict';
import test from 'node:test';
import { collapse, TerminalText } from './terminal_text';

const shown = (raw: string): string =>
  new TerminalText()
    .line(raw)
    .map(({ text }) => text)
    .join('');

test('colours go on in the next line until they are reset', () => {
  const terminal = new TerminalText();
  assert.deepEqual(terminal.line('a \x1b[1;31mred'), [
    { text: 'a ', classes: '' },
    { text: 'red', classes: 't-fg1 t-bold' }
  ]);
  assert.deepEqual(terminal.line('still'), [{ text: 'still', classes: 't-fg1 t-bold' }]);
  assert.deepEqual(terminal.line('\x1b[0mplain'), [{ text: 'plain', classes: '' }]);
});

test('256 colours and true colours become one of sixteen', () => {
  assert.equal(new TerminalText().line('\x1b[38;5;196mx')[0]?.classes, 't-fg9');
  assert.equal(new TerminalText().line('\x1b[38;2;0;120;0mx')[0]?.classes, 't-fg2');
  assert.equal(new TerminalText().line('\x1b[48;2;0;0;255;1mx')[0]?.classes, 't-bg12 t-bold');
});

test('commands to a terminal are dropped, whatever they are', () => {
  assert.equal(shown('a\x1b[2Jb\x1b[10;10Hc'), 'abc');
  assert.equal(shown('\x1b]0;a title\x07text'), 'text');
  assert.equal(shown('\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\'), 'link');
  assert.equal(shown('\x1bPq#0;2;0;0;0~~\x1b\\after'), 'after');
  assert.equal(shown('\x1b]52;c;cm0gLXJm\x07x'), 'x');
  assert.equal(shown('x\x9b31mred\x9dtitle\x9cy'), 'xredy');
  assert.equal(shown('cut \x1b[38;5'), 'cut ');
  assert.equal(shown('cut \x1b]0;never ends'), 'cut ');
});

test('control characters and those that reverse the text are dropped', () => {
  assert.equal(shown('a\x00\x07\x08b\u202ec\u2066d'), 'abcd');
  assert.equal(shown('a\tb'), 'a\tb');
});

test('markup is text', () => {
  assert.equal(shown('<img src=x onerror=alert(1)>&amp;'), '<img src=x onerror=alert(1)>&amp;');
});

test('a line that is rewritten shows its last state', () => {
  assert.deepEqual(collapse('10 %\r50 %\r100 %'), { text: '100 %', rewrites: 2 });
  assert.deepEqual(collapse('from Windows\r'), { text: 'from Windows', rewrites: 0 });
  assert.deepEqual(collapse('plain'), { text: 'plain', rewrites: 0 });
});

test('a very long line of escapes takes no time', () => {
  const begin = performance.now();
  shown('\x1b['.repeat(200_000));
  shown(`\x1b]${'a'.repeat(1_000_000)}`);
  assert.ok(performance.now() - begin < 1500);
});
