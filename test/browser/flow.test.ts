import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { systemClock } from '../../lambdas/support/clock.ts';
import { MODEL_ON } from '../support/local.ts';
import { chooseFor, rowOf, takeSecret, useConsole } from './browser.ts';
import { codesIn, useRunCode } from './run-code.ts';

const HOUR_MS = 3_600_000;

let passedMs = 0;
const clock = { now: () => Date.now() + passedMs, after: systemClock.after };
const { router, withTab } = useConsole({
  readOptions: () => {
    passedMs = 0;
    return { clock };
  },
});
const runCode = useRunCode();

const MESSAGES = [{ role: 'user' as const, content: 'say hello' }];

/** A request of each official SDK with a key. */
const askBoth = async (apiKey: string): Promise<void> => {
  const { baseUrl } = router();
  const request = { model: MODEL_ON.chat, messages: MESSAGES };
  const openai = new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey, maxRetries: 0 });
  const anthropic = new Anthropic({ baseURL: baseUrl, apiKey, maxRetries: 0 });
  const [completion, message] = await Promise.all([
    openai.chat.completions.create(request),
    anthropic.messages.create({ ...request, max_tokens: 100 }),
  ]);
  expect(completion.choices[0]?.message.content).toBe('hello');
  expect(message.content).toMatchObject([{ type: 'text', text: 'hello' }]);
};

const refused = (error: unknown): boolean =>
  (error instanceof OpenAI.AuthenticationError || error instanceof Anthropic.AuthenticationError) &&
  error.status === 401;

const expectRefused = (apiKey: string): Promise<void> =>
  expect(askBoth(apiKey)).rejects.toSatisfy(refused);

test('a key is created, used, counted, rotated, ended by its overlap, and its successor revoked', async () => {
  await withTab('#/keys?project=local', async ({ page }) => {
    await page.getByRole('button', { name: 'Create key' }).click();
    const creation = page.getByRole('dialog', { name: 'Create API key' });
    await creation.getByLabel('Name').fill('whole life');
    await creation.getByRole('button', { name: 'Create key' }).click();
    const old = await takeSecret(page);
    await askBoth(old);

    await page.reload();
    await expect.poll(() => rowOf(page, 'whole life').innerText()).toContain('2 / 100K');
    await page.getByRole('link', { name: 'Usage', exact: true }).click();
    await page.getByText('By key', { exact: true }).click();
    const usage = page.getByRole('table', { name: 'Usage by key' });
    await expect
      .poll(() => usage.getByRole('row').filter({ hasText: 'whole life' }).innerText())
      .toMatch(/100 %\s+2\s+0\s/);

    await page.getByRole('link', { name: 'API keys' }).click();
    await page.getByRole('button', { name: 'Rotate whole life' }).click();
    const rotation = page.getByRole('dialog', { name: 'Rotate “whole life”' });
    await rotation.getByText('1 hour').click();
    await rotation.getByRole('button', { name: 'Rotate' }).click();
    const successor = await takeSecret(page);
    await askBoth(old);
    await askBoth(successor);
    passedMs = HOUR_MS;
    await expectRefused(old);
    await askBoth(successor);

    await page.reload();
    await rowOf(page, 'whole life').getByText('expired').waitFor();
    await chooseFor(page, 'whole life', 'Revoke…');
    const revocation = page.getByRole('dialog', { name: 'Revoke “whole life”?' });
    await revocation.getByLabel('Type whole life to confirm').fill('whole life');
    await revocation.getByRole('button', { name: 'Revoke now' }).click();
    await revocation.waitFor({ state: 'detached' });
    await expectRefused(successor);
  });
});

test('the code for a new key works as it is shown, for all four clients', async () => {
  await withTab('#/keys?project=local', async ({ page }) => {
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Save this key now' });
    await dialog.getByRole('tab', { name: 'curl' }).waitFor();
    const codes = await codesIn(dialog);
    // Without it Claude Code warns at each start that the window of the model is not known.
    expect(codes.find(({ title }) => title === 'Claude Code')?.text).toContain(
      'CLAUDE_CODE_MAX_CONTEXT_TOKENS=1048576',
    );
    const key = await takeSecret(page);
    const outputs: Record<string, string> = {};
    for (const code of codes) outputs[code.title] = await runCode(code, key);
    expect(outputs).toEqual({
      'OpenAI SDK': expect.stringContaining('hi'),
      'Anthropic SDK': expect.stringContaining("type: 'text'"),
      'Claude Code': 'the code works\nthe code works\n',
      curl: expect.stringContaining('"chat.completion"'),
    });
  });
});

test('the code of the playground sends its prompt with quotes, dollars and line breaks', async () => {
  const prompt = 'say it\'s "quoted" $HOME `id` \\ \\n\nand ends';
  await withTab('#/playground', async ({ page }) => {
    await page.getByLabel('API key').fill(router().key);
    await page.getByLabel('Prompt', { exact: true }).fill(prompt);
    const panel = page.getByRole('region', { name: 'Code' });
    await panel.getByRole('tab', { name: 'curl' }).waitFor();
    for (const code of await codesIn(panel)) {
      // It asks for its prompt itself.
      if (code.title === 'Claude Code') continue;
      router().upstreams.reset();
      await runCode(code, router().key);
      expect(JSON.stringify(router().upstreams.calls[0]?.body)).toContain(JSON.stringify(prompt));
    }
  });
});
