import { createHmac } from 'node:crypto';
import type { Who } from '../stores/record-store.ts';

/** Reads the stage's key. @throws Error if it cannot be read */
export type ReadWhoKey = () => Promise<string>;

/** As long as 128 bits are in base64url. */
const DIGITS = 22;
const PREFIX = 'h_';
const HASHED = /^h_[\w-]{22}$/;

/** The same value of two projects has two hashes. */
const hashOf = (value: string, projectId: string, key: string): string =>
  HASHED.test(value)
    ? value
    : PREFIX +
      createHmac('sha256', key)
        .update(JSON.stringify([projectId, value]))
        .digest('base64url')
        .slice(0, DIGITS);

/** A value as records have it, where the stage has a key. @throws Error if the key cannot be read */
export const hashValue = async (
  value: string,
  projectId: string,
  readKey: ReadWhoKey | undefined,
): Promise<string> => (readKey ? hashOf(value, projectId, await readKey()) : value);

/** Without the key nothing that may name a person is kept. Client and tags are words of the caller's operator. */
export const hashWho = async (who: Who, projectId: string, readKey: ReadWhoKey): Promise<Who> => {
  const { user, session, agent, ...rest } = who;
  const key = await readKey().catch(() => undefined);
  if (key === undefined) return rest;
  for (const [name, value] of Object.entries({ user, session, agent })) {
    if (value !== undefined) Object.assign(rest, { [name]: hashOf(value, projectId, key) });
  }
  return rest;
};
