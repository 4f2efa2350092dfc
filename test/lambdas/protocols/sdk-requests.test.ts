import { expect, test } from 'vitest';
import { callerProtocols, upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { differencesIn, expectListed, type Reasons } from '../../support/member-paths.ts';
import { SAMPLES } from '../../support/sdk-requests.ts';

const ONE_TEXT = 'content of one plain text is sent as a string';
const DEFAULT = 'the default';

/** What a target of the same protocol gets in another form where its request is encoded. */
const CHANGED: Record<'chat' | 'messages', Reasons> = {
  chat: {
    model: 'the target’s',
    'messages[developer]': 'every upstream knows `system`',
    'messages[assistant].content': 'a refusal is a member of the message',
    'messages[assistant].refusal': 'the refusals of the content are part of it',
    'messages[tool].content[text]': ONE_TEXT,
    'messages[user].content[file].file.file_id': 'the file is sent with its data',
    function_call: 'the vendor rejects it without `functions`',
    response_format: DEFAULT,
  },
  messages: {
    model: 'the target’s',
    'messages[assistant].content[tool_use].id': 'ids are unique',
    'context_management.edits[clear_thinking_20251015]': 'the vendor rejects it without thinking',
    'system[text]': ONE_TEXT,
    'thinking[enabled]': 'off in a loop of tools whose thinking was lost',
  },
};

const TARGET = {
  model: 'm',
  maxOutputTokens: 9_000,
  headers: { 'anthropic-beta': 'context-management-2025-06-27' },
};

test.each(['chat', 'messages'] as const)(
  "a %s request with every member of the SDK's type reaches a target of its protocol",
  (name) => {
    const samples = SAMPLES[name]();
    expect(samples.length).toBeGreaterThan(0);
    const found = samples.flatMap((sample) => {
      const request = callerProtocols[name].decodeRequest(sample);
      const sent = upstreamProtocols[name].encodeRequest(request, TARGET);
      return differencesIn(sample, JSON.parse(JSON.stringify(sent)));
    });
    expectListed(new Set(found), CHANGED[name]);
  },
);
