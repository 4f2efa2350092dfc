import { existsSync, globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { readSse } from '../../support/sse-text.ts';
import { exportedType, type Member, membersOf } from '../../support/type-declarations.ts';

/**
 * The events of a responses stream in the official SDK's types, against all that the goldens hold. The router alone
 * writes them, so an event and a member of one is written, or listed here with the reason why not.
 */
const MODULE = 'openai/resources/responses/responses';

const HOSTED = 'only tools that the vendor runs have it';
/** By the start of their type. */
const NEVER: Record<string, string> = {
  'response.audio.': 'the protocol’s requests cannot ask for audio',
  'response.code_interpreter_call': HOSTED,
  'response.compaction.': 'requests with `context_management` are rejected',
  'response.file_search_call': HOSTED,
  'response.image_generation_call': HOSTED,
  'response.mcp_': HOSTED,
  'response.output_text.annotation.': 'citations are dropped',
  'response.queued': 'requests with `background` are rejected',
  'response.reasoning_text.': 'thinking is in the summary',
  'response.shell_call_': HOSTED,
  'response.web_search_call': HOSTED,
};
/** Members that no event has, and those that one has beyond its type. */
const NOT_WRITTEN = {
  'response.reasoning_summary_part.done.status':
    'it marks parts that are incomplete, which no upstream states',
};
const BEYOND_TYPE = { 'error.error': 'one of the SDKs raises on the nested form' };

type Event = { type: string } & Record<string, unknown>;

const fixtures = fileURLToPath(new URL('../../fixtures', import.meta.url));
const events = globSync(`${fixtures}/streams/*/for-responses.sse`)
  .filter((path) => !existsSync(path.replace('/for-responses', '/upstream.responses')))
  .flatMap((path) =>
    readSse(readFileSync(path, 'utf8')).map(({ data }): Event => JSON.parse(data)),
  );
const written = Map.groupBy(events, ({ type }) => type);

const { declaration } = exportedType(MODULE, 'ResponseStreamEvent');
const isUnion = ts.isTypeAliasDeclaration(declaration) && ts.isUnionTypeNode(declaration.type);
const kinds = isUnion ? declaration.type.types.map((type) => type.getText()) : [];
/** The members of every event by its type. */
const declared = new Map(
  kinds.map((kind): [string, Member[]] => {
    const members = membersOf(exportedType(MODULE, kind));
    const type = members.find(({ name }) => name === 'type')?.type.getText() ?? '';
    return [type.replaceAll("'", ''), members];
  }),
);

test("every event of the SDK's responses stream is written, or listed with a reason", () => {
  expect(declared.size).toBeGreaterThan(50);
  const absent = [...declared.keys()].filter((type) => !written.has(type));
  const starts = Object.keys(NEVER);
  expect(absent.filter((type) => !starts.some((start) => type.startsWith(start)))).toEqual([]);
  expect(starts.filter((start) => !absent.some((type) => type.startsWith(start)))).toEqual([]);
  expect([...written.keys()].filter((type) => !declared.has(type))).toEqual([]);
});

test("every member of the SDK's types of a responses stream is written, or listed with a reason", () => {
  const typed = new Set<string>();
  const found = new Set<string>();
  for (const [type, sent] of written) {
    for (const { name } of declared.get(type) ?? []) typed.add(`${type}.${name}`);
    for (const name of sent.flatMap(Object.keys)) found.add(`${type}.${name}`);
  }
  expect([...typed].filter((name) => !found.has(name))).toEqual(Object.keys(NOT_WRITTEN));
  expect([...found].filter((name) => !typed.has(name))).toEqual(Object.keys(BEYOND_TYPE));
});

test("every event of a responses stream has the members that the SDK's types require", () => {
  const lacking = events.flatMap((event) =>
    (declared.get(event.type) ?? [])
      .filter(({ name, isOptional }) => !isOptional && !(name in event))
      .map(({ name }) => `${event.type}.${name}`),
  );
  expect(lacking).toEqual([]);
});
