import { expect, test } from 'vitest';
import { attributionOf, sessionNamed } from '../../../lambdas/endpoints/who.ts';
import type { Who } from '../../../lambdas/stores/record-store.ts';

const read = (headers: Record<string, string>, body: object = {}) =>
  attributionOf(headers, body, { projectId: 'team', named: sessionNamed(headers, body) });

const account = (account_uuid: string) =>
  JSON.stringify({ device_id: 'device', account_uuid, session_id: 's-1' });
const HASH = /^[0-9a-f]{32}$/;
const hash = expect.stringMatching(HASH);
const long = 'x'.repeat(128);

type Row = [what: string, headers: Record<string, string>, body: object, who: Who | undefined];

test.each<Row>([
  ['nothing', {}, {}, undefined],
  [
    'its own headers before others',
    { 'x-router-user': 'a', 'helicone-user-id': 'b' },
    {},
    { user: 'a' },
  ],
  [
    'the first usable header',
    { 'x-router-user': 'a b', 'helicone-user-id': 'b' },
    {},
    { user: 'b' },
  ],
  ['a header before the body', { 'x-litellm-end-user-id': 'a' }, { user: 'b' }, { user: 'a' }],
  ['user', {}, { user: 'ann@a.test', safety_identifier: 'b' }, { user: 'ann@a.test' }],
  ['safety_identifier', {}, { safety_identifier: 'b' }, { user: 'b' }],
  ['metadata.user_id', {}, { metadata: { user_id: 'c' } }, { user: 'c' }],
  [
    'litellm_metadata',
    {},
    { litellm_metadata: { user: 'c', tags: ['a'] } },
    { user: 'c', tags: ['a=true'] },
  ],
  [
    'providerOptions',
    {},
    { providerOptions: { gateway: { user: 'u', tags: ['k:v'] } } },
    { user: 'u', tags: ['k=v'] },
  ],
  [
    'an account by its hash',
    {},
    { metadata: { user_id: account('uuid') } },
    { user: hash, session: 's-1' },
  ],
  [
    'a device by its hash',
    {},
    { metadata: { user_id: account('') } },
    { user: hash, session: 's-1' },
  ],
  [
    'the older form',
    {},
    { metadata: { user_id: 'user_ab_account__session_s-2' } },
    { user: hash, session: 's-2' },
  ],
  [
    'the session of Claude Code',
    {
      'x-claude-code-session-id': 's',
      'x-claude-code-agent-id': 'g',
      'user-agent': 'claude-cli/2.1 (external)',
    },
    {},
    { session: 's', agent: 'g', client: 'claude-cli' },
  ],
  [
    'the thread of a subagent of Codex',
    { 'session-id': 's', 'thread-id': 't', 'user-agent': 'codex_cli_rs/0.9' },
    {},
    { session: 's', agent: 't', client: 'codex_cli_rs' },
  ],
  [
    'the main thread of Codex as no agent',
    { session_id: 's', 'thread-id': 's', 'user-agent': 'codex_cli_rs/0.9' },
    {},
    { session: 's', client: 'codex_cli_rs' },
  ],
  [
    'the prompt_cache_key of Codex',
    { 'user-agent': 'codex-tui/1' },
    { prompt_cache_key: 's' },
    { session: 's', client: 'codex-tui' },
  ],
  [
    'no generic session header of another client',
    { 'session-id': 'login', 'thread-id': 't' },
    {},
    undefined,
  ],
  ['no prompt_cache_key of another client', {}, { prompt_cache_key: 'shared' }, undefined],
  ['session_id of a body', {}, { session_id: 's' }, { session: 's' }],
  [
    'a title before the program',
    { 'x-title': ' My  App ', 'user-agent': 'node' },
    {},
    { client: 'My-App' },
  ],
  ['a program of two words', { 'user-agent': 'OpenAI/JS 4.1' }, {}, { client: 'OpenAI/JS' }],
  ['tags', { 'x-router-tags': 'team=red, cost=7' }, {}, { tags: ['cost=7', 'team=red'] }],
  [
    'tags of LiteLLM',
    { 'x-litellm-tags': 'a,b:c' },
    { metadata: { tags: ['d'] } },
    { tags: ['a=true', 'b=c', 'd=true'] },
  ],
  [
    'metadata of Portkey',
    { 'x-portkey-metadata': '{"_user":"u","env":"prod"}' },
    {},
    { user: 'u', tags: ['env=prod'] },
  ],
  [
    'metadata of Cloudflare',
    { 'cf-aig-metadata': '{"team":7,"on":true}' },
    {},
    { tags: ['on=true', 'team=7'] },
  ],
  [
    'properties of Helicone',
    { 'helicone-session-id': 's', 'helicone-property-env': 'dev' },
    {},
    { session: 's', tags: ['env=dev'] },
  ],
  [
    'values of other types as absent',
    {},
    { user: 7, metadata: [], session_id: {}, providerOptions: 'x' },
    undefined,
  ],
  [
    'a text with spaces as absent',
    {},
    { user: 'write me a poem', metadata: { tags: ['a b', 7] } },
    undefined,
  ],
  ['128 characters and not 129', {}, { user: `${long}x`, safety_identifier: long }, { user: long }],
])('a request names %s', (_, headers, body, who) => {
  expect(read(headers, body).who).toEqual(who);
});

test('a hash of an account differs by project and is the same for its later requests', () => {
  const of = (projectId: string) => {
    const body = { metadata: { user_id: account('uuid') } };
    return attributionOf({}, body, { projectId, named: undefined }).who?.user;
  };
  expect(of('team')).toBe(of('team'));
  expect(of('team')).not.toBe(of('other'));
});

test.each([
  ['x-router-tags', 'a=1,b,a=2,c d=3,é=4,,=5', ['[1]', '[2]', '[3]', '[4]', '[6]']],
  ['x-router-tags', 'a=1,b=2,c=3,d=4,e=5,f=6', ['[5]']],
  ['x-litellm-tags', 'a,b c', ['[1]']],
  ['x-portkey-metadata', '{"a":{},"b c":"1","d":"x y","e":"1"}', ['.a', '.*', '.d']],
  ['cf-aig-metadata', '{', ['']],
  ['x-tfy-metadata', `{"a":"${'x'.repeat(5_000)}"}`, ['']],
  ['x-router-user', 'a b', ['']],
  ['x-router-session', '"', ['']],
  ['x-router-agent', 'x'.repeat(65), ['']],
])('what is malformed in %s: %s is named', (name, value, places) => {
  expect(read({ [name]: value }).dropped).toEqual(places.map((place) => name + place));
});

test('all that a request may name takes less than 1 KB', () => {
  const tags = Array.from({ length: 9 }, (_, at) => `${at}${'n'.repeat(31)}=${'v'.repeat(64)}`);
  const { who } = read({
    ...{ 'x-router-user': long, 'x-router-session': long, 'x-router-agent': 'x'.repeat(64) },
    ...{ 'x-title': 'x'.repeat(64), 'x-router-tags': tags.join(',') },
  });
  expect(who?.tags).toHaveLength(5);
  expect(Buffer.byteLength(JSON.stringify(who))).toBeLessThan(1_000);
});
