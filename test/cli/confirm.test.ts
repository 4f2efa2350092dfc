import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { confirm } from '../../cli/confirm.ts';

/** A terminal at which somebody types `answer`, and what it shows. */
const terminal = (answer: string) => {
  const input = Object.assign(new PassThrough(), { isTTY: true }) as unknown as NodeJS.ReadStream;
  const output = new PassThrough();
  input.push(`${answer}\n`);
  return { input, output };
};

describe('a person who is asked', () => {
  test.each(['yes', 'YES', ' yes '])('goes on with %j', async (answer) => {
    const { input, output } = terminal(answer);
    await confirm('It ends.', { input, output });
    output.end();
    expect(await text(output)).toContain('It ends. Type yes to go on: ');
  });

  test.each(['', 'y', 'no', 'yes please'])('stops with %j', async (answer) => {
    const asked = confirm('It ends.', terminal(answer));
    await expect(asked).rejects.toMatchObject({ exitCode: 2, message: 'Nothing was done.' });
  });
});
