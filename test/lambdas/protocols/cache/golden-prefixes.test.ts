import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { PRESETS } from '../../../../lambdas/catalog/profiles.ts';
import { CALLER_PROTOCOLS } from '../../../../lambdas/protocols/protocol-name.ts';
import { blocksOf, type Exchange, sentFor } from '../../../support/steps.ts';
import { WIRES } from '../../../support/wires.ts';

const folder = new URL('../../../fixtures/prefixes/', import.meta.url);
const changelog = readFileSync(new URL('../../../../CHANGELOG.md', import.meta.url), 'utf8');
const isUpdating = process.env.UPDATE_GOLDENS === '1';

/** What a provider's cache holds of an agent's session when a version of the router is replaced by the next one. */
const SESSION: Exchange[] = [
  {
    ask: 'Read "a/b", please.\n\nThen naïvely sum 1.0 and 2.',
    calls: [
      { id: 'toolu_01abcdefgh', arguments: '{"at": 1.0}', result: 'one\ttwo' },
      { id: 'call_0', arguments: '{"10":1,"2":1849173641234567891}', result: '漢字 👍' },
      { id: 'call_0', arguments: '{}', result: 'again' },
      { id: 'call.with/signs', arguments: '{"deep":{"list":[-0,1e3]}}', result: '' },
    ],
    answer: 'It is 3. ',
  },
  { ask: 'And now?', calls: [], answer: '' },
];

const PROFILES = {
  ...{ chat: PRESETS['gpt-5.6'], messages: PRESETS['claude-5'] },
  ...{ responses: PRESETS['gpt-5.6'], gemini: PRESETS['gemini-3'] },
};
const PAIRS = CALLER_PROTOCOLS.flatMap((from) => WIRES.map((to) => ({ from, to })));

const prefixOf = ({ from, to }: (typeof PAIRS)[number]): string => {
  const target = { ...PROFILES[to], model: 'm', maxOutputTokens: 64_000 };
  const step = {
    ...{ isReversed: false, headers: {}, isUnmarked: false, target },
    members: from === 'responses' ? {} : { max_tokens: 4_000 },
  };
  return `${blocksOf(to, sentFor({ from, to }, SESSION, step)).join('\n')}\n`;
};

test.each(PAIRS)(
  'the prefix of a $from session on a $to target is that of the last version',
  (pair) => {
    const file = new URL(`${pair.from}-to-${pair.to}.txt`, folder);
    const prefix = prefixOf(pair);
    if (isUpdating) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(file, prefix);
    }
    expect(prefix).toBe(existsSync(file) ? readFileSync(file, 'utf8') : '');
  },
);

test('CHANGELOG.md names the prefixes of this version: another encoding loses the caches of running sessions', () => {
  const digest = createHash('sha256')
    .update(PAIRS.map(prefixOf).join(''))
    .digest('hex')
    .slice(0, 12);
  expect(changelog).toContain(`prompt prefixes \`${digest}\``);
});
