import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FATES } from '../../lambdas/protocols/ledger/fates.ts';
import { declaredIn, differencesOf, rowlessIn } from './differ.ts';
import { lockedRoot, REQUESTS } from './packages.ts';

const SDK = '@anthropic-ai/sdk';

test('the differences of two majors of an SDK are its members, kinds, betas and default headers', () => {
  const before = declaredIn(SDK, lockedRoot('@anthropic-ai/sdk-0'));
  const lines = differencesOf(before, declaredIn(SDK, lockedRoot(SDK)));
  expect(lines).toEqual(
    expect.arrayContaining([
      "+ default 'anthropic-version': '2026-10-21'",
      "- default 'anthropic-version': '2023-06-01'",
    ]),
  );
  expect(lines.some((line) => line.startsWith('+ word beta AnthropicBeta '))).toBe(true);
  expect(lines.some((line) => line.startsWith('+ kind '))).toBe(true);
  expect(differencesOf(before, before)).toEqual([]);
});

test.each(REQUESTS)(
  'a member of $type that has no row in the table of $protocol is found, at any depth',
  ({ sdk, file, type, protocol }) => {
    const path = join(lockedRoot(sdk), file);
    const table = FATES[protocol];
    const rowless = rowlessIn(path, type, table);
    const { tools: _, ...members } = table.members;
    const known = new Set(rowless);
    const found = rowlessIn(path, type, { ...table, members }).filter((one) => !known.has(one));
    expect(found).toEqual(['tools']);
    const choice = table.members.tool_choice;
    const shallow = { ...table, members: { ...table.members, tools: choice } };
    const deep = rowlessIn(path, type, shallow).filter((one) => !known.has(one));
    expect(deep.some((one) => one.startsWith('tools'))).toBe(true);
  },
);
