import { createHash } from 'node:crypto';
import { usageError } from './cli-error.ts';
import type { Command, CommandInput } from './command.ts';
import type { OptionName, Options } from './read-arguments.ts';
import { expiryIn, numberIn, omitUndefined, required, withQuery } from './read-options.ts';

const KEY_COLUMNS = ['id', 'start', 'name', 'plan', 'status', 'created_at', 'expires_at'];
const KEY_NOTE = 'The key is shown only once. Store it now.';

const keysPath = ({ options }: CommandInput): string =>
  `/projects/${encodeURIComponent(required(options, 'project'))}/keys`;

type Verb = '' | '/move' | '/pause' | '/resume' | '/rotate' | '/revoke';

const keyPath = (input: CommandInput, verb: Verb = ''): string =>
  `${keysPath(input)}/${encodeURIComponent(input.operands[0] ?? '')}${verb}`;

const LIMIT_OPTIONS: OptionName[] = ['rpm', 'quota', 'concurrency', 'model'];

/** `none` removes a limit of the key, so that the plan's applies. */
const limitIn = (options: Options, name: 'rpm' | 'quota' | 'concurrency') =>
  options[name] === 'none' ? null : numberIn(options, name);

const limitsIn = (options: Options) => ({
  rpm: limitIn(options, 'rpm'),
  quota: limitIn(options, 'quota'),
  concurrency: limitIn(options, 'concurrency'),
  models: options.model,
});

const settingsIn = ({ options }: CommandInput): Record<string, unknown> => {
  if (options.model && options['all-models']) {
    throw usageError('--model and --all-models are mutually exclusive.');
  }
  const settings = omitUndefined({
    name: options.name,
    ...limitsIn(options),
    ...(options['all-models'] && { models: null }),
  });
  if (Object.keys(settings).length > 0) return settings;
  throw usageError(
    'No field to set: pass --name, --rpm, --quota, --concurrency, --model or --all-models.',
  );
};

const WHOLE_KEY = /^mrk_live_[0-9A-Za-z]{38}$/;

/** A whole key never leaves the machine: its SHA-256 is sent. */
const soughtKey = (text: string) => {
  if (WHOLE_KEY.test(text)) return { sha256: createHash('sha256').update(text).digest('hex') };
  return text.startsWith('key_') ? { id: text } : { start: text };
};

const SOON = 'Applies within 15 seconds.';

export const KEY_COMMANDS: Record<string, Command> = {
  'keys list': {
    operands: [],
    options: ['project', 'search', 'status'],
    request: (input) => {
      const { search: q, status } = input.options;
      return { method: 'GET', path: withQuery(keysPath(input), { q, status }) };
    },
    isPaged: true,
    lists: { data: KEY_COLUMNS },
  },
  'keys show': {
    operands: ['KEY-ID'],
    options: ['project'],
    request: (input) => ({ method: 'GET', path: keyPath(input) }),
  },
  'keys find': {
    operands: ['START'],
    options: [],
    request: ({ operands: [text = ''] }) => ({
      method: 'POST',
      path: '/keys/find',
      body: soughtKey(text),
    }),
    lists: { data: ['project', ...KEY_COLUMNS] },
  },
  'keys create': {
    operands: [],
    options: ['project', 'plan', 'name', 'expires', ...LIMIT_OPTIONS],
    request: (input) => {
      const { options, now } = input;
      const plan = required(options, 'plan');
      const { name } = options;
      const fields = { plan, name, expires_at: expiryIn(options, now), ...limitsIn(options) };
      return { method: 'POST', path: keysPath(input), body: omitUndefined(fields) };
    },
    note: () => KEY_NOTE,
  },
  'keys set': {
    operands: ['KEY-ID'],
    options: ['project', 'name', ...LIMIT_OPTIONS, 'all-models'],
    request: (input) => ({ method: 'POST', path: keyPath(input), body: settingsIn(input) }),
    note: () => SOON,
  },
  'keys move': {
    operands: ['KEY-ID'],
    options: ['project', 'plan'],
    request: (input) => ({
      method: 'POST',
      path: keyPath(input, '/move'),
      body: { plan: required(input.options, 'plan') },
    }),
    note: () => `Usage counts are kept. ${SOON}`,
  },
  'keys pause': {
    operands: ['KEY-ID'],
    options: ['project'],
    request: (input) => ({ method: 'POST', path: keyPath(input, '/pause'), body: {} }),
    question: ({ operands: [key] }) => `The key ${key} gets 401 until it is resumed.`,
    note: () => SOON,
  },
  'keys resume': {
    operands: ['KEY-ID'],
    options: ['project'],
    request: (input) => ({ method: 'POST', path: keyPath(input, '/resume'), body: {} }),
    note: () => SOON,
  },
  'keys rotate': {
    operands: ['KEY-ID'],
    options: ['project', 'overlap', 'expires'],
    request: (input) => {
      const { options, now } = input;
      const fields = { overlap: options.overlap, expires_at: expiryIn(options, now) };
      return { method: 'POST', path: keyPath(input, '/rotate'), body: omitUndefined(fields) };
    },
    question: ({ operands: [key], options: { overlap } }) =>
      overlap === 'none' ? `The key ${key} stops working immediately.` : undefined,
    note: ({ old_key_ended: isEnded, replaces }) =>
      isEnded === false
        ? `${KEY_NOTE}\nCould not set an expiry on the old key. Revoke ${replaces} once its callers use the new one.`
        : KEY_NOTE,
  },
  'keys revoke': {
    operands: ['KEY-ID'],
    options: ['project'],
    request: (input) => ({ method: 'POST', path: keyPath(input, '/revoke'), body: {} }),
    question: ({ operands: [key] }) => `The key ${key} is revoked immediately and permanently.`,
  },
};
