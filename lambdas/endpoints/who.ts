import { hash } from 'node:crypto';
import { asArray, asRecord, asString, type Json, readJsonObject } from '../protocols/bytes/json.ts';
import type { CallerHeaders } from '../protocols/protocol.ts';
import type { Who } from '../stores/record-store.ts';
import { isEmpty, omitUndefined } from '../support/objects.ts';

/*
 * For whom a request was sent, from the fields that clients and other gateways' callers send already. The first usable
 * value counts: of the router's own header, then of others' headers, then of the body.
 */

/** Bytes of a value, which bound a record: all of them take less than 1 KB. */
const MAX_ID = 128;
const MAX_NAME = 64;
const MAX_TAGS = 5;
const MAX_HEADER = 4_096;

/** Printable ASCII without a space, and without what JSON escapes. A prompt's text has spaces. */
const PRINTABLE = /^[!#-[\]-~]+$/;
const TAG_NAME = /^[\w.-]{1,32}$/;

const isUsable = (value: string, max: number): boolean =>
  value.length <= max && PRINTABLE.test(value);

const usable = (value: unknown, max: number): string | undefined =>
  typeof value === 'string' && isUsable(value, max) ? value : undefined;

type Read = {
  headers: CallerHeaders;
  body: Json | undefined;
  /** Headers, and places in them, whose value is not kept. */
  dropped: string[];
};

const inHeaders = ({ headers, dropped }: Read, names: string[], max: number) => {
  for (const name of names) {
    const value = headers[name];
    if (!value) continue;
    if (isUsable(value, max)) return value;
    dropped.push(name);
  }
  return undefined;
};

// --- user ---

const USER_HEADERS = [
  ...['x-router-user', 'x-litellm-customer-id', 'x-litellm-end-user-id', 'helicone-user-id'],
];

/** Claude Code's older form of `metadata.user_id`. */
const OLD_USER = /^user_(\w+?)_account_([\w-]*?)_session_/;

/** An account or a device identifies a person for longer than a project needs: only its hash is kept. */
const hashed = (id: string, projectId: string): string =>
  hash('sha256', JSON.stringify([projectId, id])).slice(0, 32);

const userIn = (userId: string | undefined, projectId: string): string | undefined => {
  if (!userId) return undefined;
  const [, device, account] = OLD_USER.exec(userId) ?? [];
  const fields = userId.startsWith('{') ? readJsonObject(userId) : undefined;
  const id =
    account || device || asString(fields?.account_uuid) || asString(fields?.device_id) || undefined;
  return id === undefined ? userId : hashed(id, projectId);
};

const gatewayOf = (body: Json | undefined): Json | undefined =>
  asRecord(asRecord(body?.providerOptions)?.gateway);

const userOf = (read: Read, portkey: Json | undefined, projectId: string): string | undefined => {
  const { body } = read;
  return (
    inHeaders(read, USER_HEADERS, MAX_ID) ??
    usable(portkey?._user, MAX_ID) ??
    usable(body?.user, MAX_ID) ??
    usable(asRecord(body?.litellm_metadata)?.user, MAX_ID) ??
    usable(userIn(asString(asRecord(body?.metadata)?.user_id), projectId), MAX_ID) ??
    usable(body?.safety_identifier, MAX_ID) ??
    usable(gatewayOf(body)?.user, MAX_ID)
  );
};

// --- session, agent, client ---

/** Headers that name a session, the most specific first. */
const SESSION_HEADERS = [
  'x-router-session',
  'x-claude-code-session-id',
  'session-id',
  'session_id',
  'x-session-affinity',
  'x-session-id',
  'helicone-session-id',
];

/** Agents' session in an end-user id: a member of its JSON text, or behind the last word of an older form. */
const sessionIn = (userId: string | undefined): string | undefined =>
  userId?.startsWith('{')
    ? asString(readJsonObject(userId)?.session_id)
    : /_session_([\w-]+)$/.exec(userId ?? '')?.[1];

/**
 * The session that a caller's request names, in headers or body; undefined if it names none. The value is the client's: a
 * hint for caches, which proves nothing.
 */
export const sessionNamed = (headers: CallerHeaders, body: unknown): string | undefined => {
  const wire = asRecord(body);
  const named = SESSION_HEADERS.map((name) => headers[name]).find(Boolean);
  return (
    named ||
    asString(wire?.prompt_cache_key) ||
    asString(wire?.session_id) ||
    sessionIn(asString(asRecord(wire?.metadata)?.user_id))
  );
};

/** Of other clients these may be the name of a login, which no record may hold. */
const CODEX_ONLY = new Set(['session-id', 'session_id']);
const OWN_SESSION_HEADERS = SESSION_HEADERS.filter((name) => !CODEX_ONLY.has(name));
const CODEX = /^codex/i;

const recordedSession = (read: Read, isCodex: boolean): string | undefined => {
  const { body } = read;
  return (
    inHeaders(read, isCodex ? SESSION_HEADERS : OWN_SESSION_HEADERS, MAX_ID) ??
    usable(body?.session_id, MAX_ID) ??
    usable(sessionIn(asString(asRecord(body?.metadata)?.user_id)), MAX_ID) ??
    (isCodex ? usable(body?.prompt_cache_key, MAX_ID) : undefined)
  );
};

const AGENT_HEADERS = ['x-router-agent', 'x-claude-code-agent-id'];

/** A subagent of Codex shares the session, and has a thread. */
const agentOf = (read: Read, session: string | undefined, isCodex: boolean) => {
  const thread = isCodex ? usable(read.headers['thread-id'], MAX_NAME) : undefined;
  return inHeaders(read, AGENT_HEADERS, MAX_NAME) ?? (thread === session ? undefined : thread);
};

/** Product of a user agent without its version. */
const PRODUCT = /^[^\s/]+(?:\/[A-Za-z]\w*)?/;

const TITLES = ['x-router-client', 'x-openrouter-title', 'x-title'];

const clientOf = ({ headers }: Read, program: string | undefined): string | undefined => {
  for (const name of TITLES) {
    const title = headers[name] && usable(headers[name].trim().replaceAll(/\s+/g, '-'), MAX_NAME);
    if (title) return title;
  }
  return program && usable(PRODUCT.exec(program)?.[0], MAX_NAME);
};

// --- tags ---

/** A tag, and where it was: undefined in a body, whose members the provider gets. */
type Sent = { name: string; value: string; at: string | undefined };

/** `name=value`, or LiteLLM's `name:value` and `name`. */
const splitTag = (text: string, at: string | undefined, separator: string): Sent => {
  const end = text.indexOf(separator);
  if (end === -1) return { name: text, value: separator === '=' ? '' : 'true', at };
  return { name: text.slice(0, end).trim(), value: text.slice(end + 1).trim(), at };
};

const inList = (header: string | undefined, at: string, separator: string): Sent[] =>
  header
    ? header
        .slice(0, MAX_HEADER)
        .split(',', 4 * MAX_TAGS)
        .map((text, index) => splitTag(text.trim(), `${at}[${index}]`, separator))
        .filter(({ name, value }) => name + value !== '')
    : [];

const inTexts = (list: unknown): Sent[] =>
  asArray(list)
    .slice(0, 4 * MAX_TAGS)
    .flatMap((text) => (typeof text === 'string' ? splitTag(text, undefined, ':') : []));

const OBJECT_HEADERS = ['x-portkey-metadata', 'cf-aig-metadata', 'x-tfy-metadata'];

const inObject = (fields: Json | undefined, at: string): Sent[] =>
  Object.entries(fields ?? {})
    .filter(([name]) => name !== '_user')
    .slice(0, 4 * MAX_TAGS)
    .map(([name, value]) => ({
      name,
      value: typeof value === 'object' ? '' : String(value),
      at: `${at}.${TAG_NAME.test(name) ? name : '*'}`,
    }));

const objectsIn = ({ headers, dropped }: Read): [name: string, fields: Json][] =>
  OBJECT_HEADERS.flatMap((name): [string, Json][] => {
    const text = headers[name];
    if (!text) return [];
    const fields = text.length <= MAX_HEADER ? readJsonObject(text) : undefined;
    if (fields) return [[name, fields]];
    dropped.push(name);
    return [];
  });

const PROPERTY = 'helicone-property-';

/** All header names are read only of a caller that names Helicone. */
const inProperties = (headers: CallerHeaders): Sent[] => {
  const isHelicone =
    headers['helicone-auth'] ?? headers['helicone-user-id'] ?? headers['helicone-session-id'];
  if (isHelicone === undefined) return [];
  return Object.entries(headers)
    .filter(([name]) => name.startsWith(PROPERTY))
    .map(([name, value]) => ({ name: name.slice(PROPERTY.length), value, at: name }));
};

const tagsOf = (read: Read, objects: [name: string, fields: Json][]): string[] => {
  const { headers, body, dropped } = read;
  const kept = new Map<string, string>();
  const keep = (sent: Sent[]): void => {
    for (const { name, value, at } of sent) {
      const isKept =
        TAG_NAME.test(name) && isUsable(value, MAX_NAME) && !kept.has(name) && kept.size < MAX_TAGS;
      if (isKept) kept.set(name, value);
      else if (at !== undefined) dropped.push(at);
    }
  };
  keep(inList(headers['x-router-tags'], 'x-router-tags', '='));
  keep(inList(headers['x-litellm-tags'], 'x-litellm-tags', ':'));
  for (const [name, fields] of objects) keep(inObject(fields, name));
  keep(inProperties(headers));
  if (body?.metadata) keep(inTexts(asRecord(body.metadata)?.tags));
  if (body?.litellm_metadata) keep(inTexts(asRecord(body.litellm_metadata)?.tags));
  if (body?.providerOptions) keep(inTexts(gatewayOf(body)?.tags));
  return [...kept].map(([name, value]) => `${name}=${value}`).toSorted();
};

/** Who a request is for; undefined if it names none. Headers that are malformed are in `dropped`, by name. */
export type Attribution = { who: Who | undefined; dropped: readonly string[] };

/** Never throws. `named` is its `sessionNamed`: without one there is none to look for. */
export const attributionOf = (
  headers: CallerHeaders,
  body: unknown,
  { projectId, named }: { projectId: string; named: string | undefined },
): Attribution => {
  const dropped: string[] = [];
  const read: Read = { headers, body: asRecord(body), dropped };
  const program = headers['user-agent'];
  const isCodex = program !== undefined && CODEX.test(program);
  const objects = objectsIn(read);
  const portkey = objects.find(([name]) => name === 'x-portkey-metadata')?.[1];
  const user = userOf(read, portkey, projectId);
  const session = named === undefined ? undefined : recordedSession(read, isCodex);
  const agent = agentOf(read, session, isCodex);
  const client = clientOf(read, program);
  const tags = tagsOf(read, objects);
  const who = omitUndefined({
    ...{ user, session, agent, client },
    tags: tags.length > 0 ? tags : undefined,
  });
  return { who: isEmpty(who) ? undefined : who, dropped };
};
