import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { askSoon } from './ask_soon';

test('what is asked is answered after the pause, and forgotten once another question has replaced it', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const said: string[] = [];
  const answers: ((answer: string) => void)[] = [];
  const ask = (): Promise<string> => new Promise((resolve) => answers.push(resolve));
  const first = askSoon(100, ask, (answer) => said.push(answer), () => said.push('failed'));
  mock.timers.tick(50);
  first();
  mock.timers.tick(100);
  assert.equal(answers.length, 0, 'it was never asked');
  const second = askSoon(100, ask, (answer) => said.push(answer), () => said.push('failed'));
  mock.timers.tick(100);
  second();
  askSoon(100, ask, (answer) => said.push(answer), () => said.push('failed'));
  mock.timers.tick(100);
  answers[1]?.('new');
  answers[0]?.('old');
  await Promise.resolve();
  await Promise.resolve();
  askSoon(0, () => Promise.reject(new Error('gone')), () => said.push('answered'), (error) => said.push(String(error)));
  mock.timers.tick(0);
  await new Promise((resolve) => setImmediate(resolve));
  mock.timers.reset();
  assert.deepEqual(said, ['new', 'Error: gone']);
});
