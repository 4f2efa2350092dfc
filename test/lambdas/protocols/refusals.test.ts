import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { protocols } from '../../../lambdas/protocols/protocols.ts';
import { apiError, invalidRequest } from '../../../lambdas/support/errors.ts';
import { ChatError } from '../../support/chat-schema.ts';
import { FAMILIES } from '../../support/golden.ts';
import { MessagesError } from '../../support/messages-schema.ts';

const folder = fileURLToPath(new URL('../../fixtures/refusals', import.meta.url));
/** `overflow-…` says that the prompt is too long, `other-…` something else. */
const bodies = readdirSync(folder).map((name) => ({
  name,
  body: readFileSync(join(folder, name), 'utf8'),
}));

describe.each(FAMILIES)('a refusal by an upstream of %s', (from) => {
  test.each(bodies)('$name', ({ name, body }) => {
    const kind = name.startsWith('overflow-') ? 'context-overflow' : 'other';
    expect(protocols[from].decodeRefusal(body)).toEqual({ kind });
  });
});

const SCHEMA = { chat: ChatError, messages: MessagesError };
const overflow = invalidRequest('prompt is too long: 9 tokens > 8 maximum', {
  code: 'context_length_exceeded',
  param: 'messages',
});

describe.each(FAMILIES)('an error for a caller of %s', (to) => {
  test.each([overflow, apiError('The model is temporarily unavailable.')])('%s', (error) => {
    const body = protocols[to].encodeError(error, 'req_1');
    expect(SCHEMA[to].safeParse(body).error).toBeUndefined();
    expect(body).toMatchObject({ error: { type: error.type, message: error.message } });
  });
});
