import { hash } from 'node:crypto';
import { asRecord, asString, readJsonObject } from '../bytes/json.ts';
import type { GenerationRequest, Turn } from '../generation.ts';
import { spokenText } from '../instructions.ts';
import type { CallerHeaders } from '../protocol.ts';

/** Headers that name a session, the most specific first. */
export const SESSION_HEADERS = [
  'x-router-session',
  'x-claude-code-session-id',
  'session-id',
  'session_id',
  'x-session-affinity',
  'x-session-id',
  'helicone-session-id',
];

/** Agents' session in an end-user id: a member of its JSON text, or behind the last word of an older form. */
export const sessionIn = (userId: string | undefined): string | undefined =>
  userId?.startsWith('{')
    ? asString(readJsonObject(userId)?.session_id)
    : /_session_([\w-]+)$/.exec(userId ?? '')?.[1];

/**
 * The session that a caller's request names, in headers or body; undefined if it names none. The value is the client's: a
 * hint for caches, which proves nothing.
 */
export const sessionOf = (headers: CallerHeaders, body: unknown): string | undefined => {
  const wire = asRecord(body);
  const named = SESSION_HEADERS.map((name) => headers[name]).find(Boolean);
  return (
    named ||
    asString(wire?.prompt_cache_key) ||
    asString(wire?.session_id) ||
    sessionIn(asString(asRecord(wire?.metadata)?.user_id))
  );
};

/** Of a longer text the ends and the length tell sessions apart, in a microsecond. */
const SAMPLE = 2_048;

const sampleOf = (text: string): string =>
  text.length <= 2 * SAMPLE
    ? text
    : `${text.length} ${text.slice(0, SAMPLE)} ${text.slice(-SAMPLE)}`;

const textsOf = (turn: Turn | undefined): string[] =>
  turn?.blocks.flatMap((block) =>
    block.type === 'text' ? sampleOf(spokenText(block.text) ?? '') : [],
  ) ?? [];

/** What stays the same in each request of a conversation: its first system turn and its first turn of the user. */
const openingOf = ({ turns }: Pick<GenerationRequest, 'turns'>): string[] => [
  ...textsOf(turns.find(({ role }) => role === 'system')),
  ...textsOf(turns.find(({ role }) => role === 'user')),
];

/** Characters of a session's id, and of its secret. */
const ID = 32;

/** A session among those of all keys: its id, and a secret that is stored nowhere and does not follow from the id. */
export type Session = { id: string; secret: string };

/**
 * Both parts hold the key's id, so that no key meets the session of another, and the key itself, which is stored nowhere: what a
 * client names its session is in its record.
 */
export const sessionIdOf = (
  { keyId, headers }: { keyId: string; headers: CallerHeaders },
  request: Pick<GenerationRequest, 'turns'>,
  named: string | undefined,
): Session => {
  const keys = [headers.authorization, headers['x-api-key'], headers['api-key']];
  const texts = [keyId, ...keys, ...(named ? [named] : openingOf(request))];
  const digest = hash('sha256', JSON.stringify(texts));
  return { id: digest.slice(0, ID), secret: digest.slice(ID) };
};
