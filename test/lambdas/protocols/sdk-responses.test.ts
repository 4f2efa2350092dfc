import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { callerProtocols, upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { ApiError } from '../../../lambdas/support/errors.ts';
import {
  BASE,
  inputItems,
  settings,
  TARGET,
  tools,
  withItem,
  withItems,
  withTool,
} from '../../support/sdk-requests.ts';

/**
 * The kinds of items, tools and choices of a responses request in the official SDK's types: each is carried, named or
 * refused. Their members are in ledger.test.ts.
 */
type Json = Record<string, unknown>;
type Target = 'chat' | 'messages';
/** What becomes of a value; `named`: in `x-router-dropped`. */
type Fate = 'carried' | 'lost' | 'named' | 'refused';

const translate = (to: Target) => (body: unknown) => {
  const request = callerProtocols.responses.decodeRequest(body);
  const { cannotSay, encodeRequest, losses } = upstreamProtocols[to];
  return {
    refused: cannotSay(request).length > 0,
    sent: JSON.parse(JSON.stringify(encodeRequest(request, TARGET))),
    named: losses(request, TARGET, body),
  };
};

const fateOf = (to: Target, whole: unknown, without: unknown): Fate => {
  try {
    const [given, rest] = [whole, without].map(translate(to));
    if (given?.refused) return 'refused';
    if (!isDeepStrictEqual(given?.sent, rest?.sent)) return 'carried';
    return isDeepStrictEqual(given?.named, rest?.named) ? 'lost' : 'named';
  } catch (error) {
    if (error instanceof ApiError) return 'refused';
    throw error;
  }
};

const kindOf = ({ type = 'message' }: Json): string => String(type);
/** The kinds of items, of tools and of choices that are not named and refused as a whole. */
const CARRIED = {
  items: [
    ...['message', 'reasoning', 'additional_tools', 'function_call', 'function_call_output'],
    ...['custom_tool_call', 'custom_tool_call_output'],
    ...['apply_patch_call', 'apply_patch_call_output', 'shell_call', 'shell_call_output'],
    ...['local_shell_call', 'local_shell_call_output'],
  ],
  // The shell of the first sample is one in a container of the vendor.
  tools: ['function', 'custom', 'namespace', 'apply_patch', 'local_shell'],
};
const REFUSED_ITEMS = [
  'compaction',
  'compaction_trigger',
  'configuration_update',
  'item_reference',
];
const REFUSED_CHOICES = [
  ...['code_interpreter', 'computer', 'computer_use', 'computer_use_preview'],
  ...['file_search', 'image_generation', 'mcp', 'programmatic_tool_calling'],
  ...['web_search_preview', 'web_search_preview_2025_03_11'],
];

/** The fate of the first value of each kind. */
const fatesByKind = (values: Json[], fate: (value: Json) => Fate): Record<string, Fate> =>
  Object.fromEntries(
    [...Map.groupBy(values, kindOf)].map(([kind, [first = {}]]) => [kind, fate(first)]),
  );

test("a choice of every kind in the SDK's types names a tool of the caller's, or is refused", () => {
  const choices = settings()
    .filter(
      (fields) => fateOf('chat', { ...BASE, tool_choice: fields.tool_choice }, BASE) === 'refused',
    )
    .map(({ tool_choice: choice }) => kindOf(choice as Json));
  expect([...new Set(choices)].toSorted()).toEqual(REFUSED_CHOICES);
});

describe.each(['chat', 'messages'] as const)('on a %s target', (to) => {
  test(`a ${to} target gets every kind of the SDK's input items, or it is named or refused`, () => {
    const fates = fatesByKind(inputItems(), (item) => fateOf(to, withItem(item), withItems([])));
    const kinds = Object.keys(fates);
    expect(kinds.filter((kind) => fates[kind] === 'carried').toSorted()).toEqual(
      CARRIED.items.toSorted(),
    );
    expect(kinds.filter((kind) => fates[kind] === 'refused').toSorted()).toEqual(REFUSED_ITEMS);
    expect(kinds.filter((kind) => fates[kind] === 'lost')).toEqual([]);
  });

  test(`a ${to} target gets every kind of the SDK's tools, or it is named`, () => {
    const fates = fatesByKind(tools(), (tool) =>
      fateOf(to, withTool(tool), { ...BASE, tools: [] }),
    );
    const kinds = Object.keys(fates);
    expect(kinds.filter((kind) => fates[kind] !== 'named').toSorted()).toEqual(
      CARRIED.tools.toSorted(),
    );
  });
});
