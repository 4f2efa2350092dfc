import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import type { Row } from '../../../lambdas/protocols/ledger/fates/rows.ts';
import { FATES } from '../../../lambdas/protocols/ledger/fates.ts';
import { ledgerOf } from '../../../lambdas/protocols/ledger/ledger.ts';
import { callerProtocols, upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { isWithin, leavesOf, withoutLeaves } from '../../support/leaves.ts';
import { fieldsOf, PAIRS, type Pair, requestsOf, TARGET } from '../../support/sdk-requests.ts';

type Json = Record<string, unknown>;

const translate = ({ from, to }: Pair, body: unknown) => {
  const request = callerProtocols[from].decodeRequest(body);
  const { encodeRequest, path: pathOf, losses } = upstreamProtocols[to];
  const path = pathOf(TARGET, request.stream);
  return {
    sent: JSON.parse(JSON.stringify({ path, ...encodeRequest(request, TARGET) })),
    named: losses(request, TARGET, body),
    harmless: ledgerOf({ from, to, received: body, strict: () => true, cache: () => [] }).harmless,
  };
};

/** Members whose absence is repaired: the kind of an object follows from the others, and the call of an output. */
const isKind = (path: string): boolean => /(?:^|\.)(?:type|role)$|_output\]\.call_id$/.test(path);

/** The types allow blocks of the assistant's in user turns; no vendor does. */
const isMisplaced = (path: string): boolean =>
  /^messages\[user\]\.content\[(?:tool_use|thinking|redacted_thinking)\]/.test(path);

type Fate = 'sent' | 'named' | 'harmless' | 'unnamed' | 'misnamed';
type Translated = ReturnType<typeof translate>;

const isSent = (pair: Pair, body: Json, path: string, { sent }: Translated) => {
  try {
    const others = translate(pair, withoutLeaves(body, path));
    return isDeepStrictEqual(others.sent, sent) ? [] : [others];
  } catch {
    // The rest is not valid.
    return undefined;
  }
};

/** What becomes of a member, or of the object that is lost with it. `misnamed`: it is sent, and named. */
const fateOf = (pair: Pair, body: Json, path: string, whole: Translated): [string, Fate] => {
  const entryIn = (entries: string[]) => entries.find((entry) => isWithin(path, entry));
  const [lost, idle] = [entryIn(whole.named), entryIn(whole.harmless)];
  const others = isSent(pair, body, path, whole);
  if (others?.length === 1) {
    // An item that is lost as a whole may be another one; a grammar is sent as words, which enforce nothing.
    const isMisnamed = lost && !/(?:\]|\.format)$/.test(lost) && others[0]?.named.includes(lost);
    return [path, isMisnamed ? 'misnamed' : 'sent'];
  }
  if (lost !== undefined) return [lost, 'named'];
  if (others === undefined) return [path, 'sent'];
  return idle === undefined ? [path, 'unnamed'] : [idle, 'harmless'];
};

/** Where the target's protocol has no stop sequences, the router ends the response at them. */
const isOfRouter = ({ to }: Pair, path: string): boolean =>
  upstreamProtocols[to].takesStops === false && /^stop(?:_sequences)?\b/.test(path);

const fatesOf = (pair: Pair): Record<Fate, string[]> => {
  const fates = new Map<string, Fate>();
  const met = new Set<string>();
  for (const body of requestsOf(pair)) {
    const paths = leavesOf(body).map((leaf) => leaf.path);
    const fresh = paths.filter(
      (path) => !met.has(path) && !isKind(path) && !isMisplaced(path) && !isOfRouter(pair, path),
    );
    if (fresh.length === 0) continue;
    const whole = translate(pair, body);
    for (const path of fresh) {
      met.add(path);
      const entry = whole.named.find((one) => one.endsWith(']') && isWithin(path, one));
      // Of an item that is lost as a whole one member stands for all.
      if (!(entry && fates.has(entry))) fates.set(...fateOf(pair, body, path, whole));
    }
  }
  const of = (fate: Fate) => [...fates].flatMap(([path, one]) => (one === fate ? [path] : []));
  return {
    ...{ sent: of('sent'), named: of('named'), harmless: of('harmless') },
    ...{ unnamed: of('unnamed'), misnamed: of('misnamed') },
  };
};

const page = readFileSync(new URL('../../../docs/translation.md', import.meta.url), 'utf8');
const quoted = (text = ''): string[] =>
  [...text.matchAll(/`([^`]+)`/g)].flatMap(([, name]) => name ?? []);

/** The rows of a table by their last names. */
const rowsIn = (row: Row | undefined, name = ''): { name: string; row: Row }[] => {
  switch (row?.is) {
    case 'list':
      return rowsIn(row.item, name);
    case 'object':
    case 'kinds': {
      const inner = Object.entries(row.is === 'object' ? row.members : row.rows);
      return inner.flatMap(([key, one]) => rowsIn(one, key));
    }
    default:
      return row ? [{ name, row }] : [];
  }
};

/** The page's sentence for the word of each row. */
const REASONS: Record<string, string> = {
  label: 'a label for the records of the provider',
  echo: 'a part of an earlier response, of which the model reads the rest',
  offered: 'the tool is offered from the start',
  data: 'the file is sent with its data',
  implied: 'what it states follows from the members next to it',
  enforced: 'a schema is enforced wherever the target can',
  shown: 'thinking is returned wherever the target shows it',
  transport: 'how a response is transmitted, not what it contains',
  guess: 'a guess at the response, which makes it faster',
  effort: 'an effort stands for it, or the default of the model',
  thinking: 'which of the earlier thinking is sent is decided here',
  agent: 'settings of an agent, which no provider is sent',
  machine: 'the machine of the caller, which runs the call',
  output: 'the output is sent as it is',
};

test('docs/translation.md lists every harmless member with the reason, and every essential one', () => {
  const rows = Object.values(FATES).flatMap((table) => rowsIn(table));
  const reasons = new Map<string, Set<string>>();
  for (const { name, row } of rows) {
    if (row.is !== 'harmless') continue;
    const why = REASONS[row.why] ?? row.why;
    reasons.set(why, (reasons.get(why) ?? new Set()).add(name));
  }
  const listed = [...page.matchAll(/^- (`.+`): harmless, (.+)$/gm)].map(([, names, why]) => [
    why,
    quoted(names).toSorted(),
  ]);
  expect(new Map(listed as [string, string[]][])).toEqual(
    new Map([...reasons].map(([why, names]) => [why, [...names].toSorted()])),
  );
  const essential = rows.flatMap(({ name, row }) => (row.is === 'essential' ? name : []));
  const [, line] = /^- Essential: (.+)$/m.exec(page) ?? [];
  expect(quoted(line).toSorted()).toEqual(essential.toSorted());
});

/** Rejected, or sent as a header. */
const UNNAMED = ['betas', 'thread', 'background', 'conversation', 'prompt', 'previous_response_id'];

test.each(['chat', 'messages', 'responses'] as const)(
  'docs/translation.md lists the fields of the official types of %s that are named',
  (from) => {
    const { members } = FATES[from];
    const named = fieldsOf(from).filter((name) => {
      const row = members[name];
      return row === undefined || (row.is === 'carried' && row.to?.length === 0);
    });
    const [, line] = new RegExp(`^- Named, of ${from}: (.+)$`, 'm').exec(page) ?? [];
    expect(quoted(line)).toEqual(named.filter((name) => !UNNAMED.includes(name)).toSorted());
  },
);

/** How many members of the types are at least sent, named and harmless. */
const COUNTS = { sent: 40, named: 15, harmless: 5 };

test.each(PAIRS)(
  'every member of a $from request in the official types is sent to a $to target, named or harmless',
  (pair) => {
    const { unnamed, misnamed, ...fates } = fatesOf(pair);
    expect({ unnamed, misnamed }).toEqual({ unnamed: [], misnamed: [] });
    for (const [fate, least] of Object.entries(COUNTS)) {
      expect(fates[fate as keyof typeof fates].length).toBeGreaterThan(least);
    }
  },
);
