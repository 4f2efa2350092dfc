import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { confirm } from '../../cli/run.ts';

/** A terminal whose input is `answer`, and its output. */
const terminal = (answer: string) => {
  const input = Object.assign(new PassThrough(), { isTTY: true }) as unknown as NodeJS.ReadStream;
  const output = new PassThrough();
  input.push(`${answer}\n`);
  return { input, output };
};

describe('confirm', () => {
  test.each(['yes', 'YES', ' yes '])('the confirmation prompt accepts %j', async (answer) => {
    const { input, output } = terminal(answer);
    await confirm('It ends.', { input, output });
    output.end();
    expect(await text(output)).toContain('It ends. Type yes to continue: ');
  });

  test.each(['', 'y', 'no', 'yes please'])(
    'the confirmation prompt rejects %j with exit code 2',
    async (answer) => {
      const confirmation = confirm('It ends.', terminal(answer));
      await expect(confirmation).rejects.toMatchObject({
        exitCode: 2,
        message: 'Nothing was changed.',
      });
    },
  );

  test('without a terminal the first words are that nothing was changed', async () => {
    const input = new PassThrough() as unknown as NodeJS.ReadStream;
    const asked = confirm('The plan x is deleted.', { input, output: new PassThrough() });
    await expect(asked).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(
        /^Nothing was changed: .* With --yes: The plan x is deleted\.$/,
      ),
    });
  });
});
