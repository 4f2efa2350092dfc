import { createHash } from 'node:crypto';
import type { Command } from './command.ts';
import type { OptionName } from './options.ts';

const KEY_COLUMNS = ['id', 'start', 'name', 'plan', 'status', 'created_at', 'expires_at'];
const KEY_NOTE = 'The key is shown only once. Store it now.';
const SOON = 'Applies within 15 seconds.';

const LIMIT_OPTIONS: OptionName[] = ['rpm', 'quota', 'concurrency', 'model', 'require'];
const ONE = { operands: { key: 'KEY-ID' }, options: ['project'] } satisfies Partial<Command>;

const WHOLE_KEY = /^mrk_live_[0-9A-Za-z]{38}$/;

/** A whole key never leaves the machine: its SHA-256 is sent. */
const soughtKey = (text: string) => {
  if (WHOLE_KEY.test(text)) return { sha256: createHash('sha256').update(text).digest('hex') };
  return text.startsWith('key_') ? { id: text } : { start: text };
};

export const KEY_COMMANDS: Record<string, Command> = {
  'keys list': {
    options: ['project', 'search', 'status'],
    isPaged: true,
    lists: { data: KEY_COLUMNS },
  },
  'keys show': { ...ONE },
  'keys find': {
    operands: { '': 'START' },
    members: ({ operands: [text = ''] }) => soughtKey(text),
    lists: { data: ['project', ...KEY_COLUMNS] },
  },
  'keys create': {
    options: ['project', 'plan', 'name', 'expires', ...LIMIT_OPTIONS],
    needs: ['plan'],
    note: () => KEY_NOTE,
  },
  'keys set': {
    operands: ONE.operands,
    options: ['project', 'name', ...LIMIT_OPTIONS, 'all-models'],
    isChange: true,
    note: () => SOON,
  },
  'keys move': {
    operands: ONE.operands,
    options: ['project', 'plan'],
    needs: ['plan'],
    note: () => `Usage counts are kept. ${SOON}`,
  },
  'keys pause': {
    ...ONE,
    question: ({ operands: [key] }) => `The key ${key} gets 401 until it is resumed.`,
    note: () => SOON,
  },
  'keys resume': { ...ONE, note: () => SOON },
  'keys rotate': {
    operands: ONE.operands,
    options: ['project', 'overlap', 'expires'],
    question: ({ operands: [key], options: { overlap } }) =>
      overlap === 'none' ? `The key ${key} stops working immediately.` : undefined,
    note: ({ old_key_ended: isEnded, replaces }) =>
      isEnded === false
        ? `${KEY_NOTE}\nCould not set an expiry on the old key. Revoke ${replaces} once its callers use the new one.`
        : KEY_NOTE,
  },
  'keys revoke': {
    operands: ONE.operands,
    options: ['project', 'reason'],
    question: ({ operands: [key] }) => `The key ${key} is revoked immediately and permanently.`,
  },
};
