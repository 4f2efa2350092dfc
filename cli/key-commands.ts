import type { Command, CommandInput } from './command.ts';
import { expiryIn, omitUndefined, required } from './read-options.ts';

const KEY_COLUMNS = ['id', 'start', 'name', 'plan', 'status', 'created_at', 'expires_at'];
const KEY_NOTE = 'The key is shown only once. Store it now.';

const keysPath = ({ options }: CommandInput): string =>
  `/projects/${encodeURIComponent(required(options, 'project'))}/keys`;

const keyPath = (input: CommandInput, verb: 'rotate' | 'revoke'): string =>
  `${keysPath(input)}/${encodeURIComponent(input.operands[0] ?? '')}/${verb}`;

export const KEY_COMMANDS: Record<string, Command> = {
  'keys list': {
    operands: [],
    options: ['project'],
    request: (input) => ({ method: 'GET', path: keysPath(input) }),
    lists: { data: KEY_COLUMNS },
  },
  'keys create': {
    operands: [],
    options: ['project', 'plan', 'name', 'expires'],
    request: (input) => {
      const { options, now } = input;
      const plan = required(options, 'plan');
      const fields = { plan, name: options.name, expires_at: expiryIn(options, now) };
      return { method: 'POST', path: keysPath(input), body: omitUndefined(fields) };
    },
    note: () => KEY_NOTE,
  },
  'keys rotate': {
    operands: ['KEY-ID'],
    options: ['project', 'overlap', 'expires'],
    request: (input) => {
      const { options, now } = input;
      const fields = { overlap: options.overlap, expires_at: expiryIn(options, now) };
      return { method: 'POST', path: keyPath(input, 'rotate'), body: omitUndefined(fields) };
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
    request: (input) => ({ method: 'POST', path: keyPath(input, 'revoke'), body: {} }),
    question: ({ operands: [key] }) => `The key ${key} is revoked immediately and permanently.`,
  },
};
