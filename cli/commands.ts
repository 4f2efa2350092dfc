import { readFile } from 'node:fs/promises';
import { AUDIT_COMMANDS } from './audit-commands.ts';
import { BUDGET_COMMANDS } from './budget-commands.ts';
import { messageOf, usageError } from './cli-error.ts';
import type { Command } from './command.ts';
import { DOCTOR_COMMANDS } from './doctor-commands.ts';
import { EXPORT_COMMANDS } from './export-commands.ts';
import { KEY_COMMANDS } from './key-commands.ts';
import { MEMBER_COMMANDS } from './member-commands.ts';
import type { Options } from './read-arguments.ts';
import { numberIn, omitUndefined, required } from './read-options.ts';
import { REQUEST_COMMANDS } from './request-commands.ts';
import { USAGE_COMMANDS } from './usage-commands.ts';

const PLAN_COLUMNS = ['id', 'rpm', 'quota', 'period', 'concurrency', 'models', 'replay'];
const OUTCOME_COLUMNS = ['id', 'outcome'];
const readJsonFile = async (path: string): Promise<object> => {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, 'utf8'));
  } catch (cause) {
    throw usageError(`Cannot read ${path}: ${messageOf(cause)}.`, { cause });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw usageError(`${path} must be a JSON object.`);
};

const planFields = (options: Options) => ({
  rpm: numberIn(options, 'rpm'),
  quota: numberIn(options, 'quota'),
  period: options.period,
  concurrency: options.concurrency === 'none' ? null : numberIn(options, 'concurrency'),
  models: options.model,
  replay: options.replay,
});

const projectFields = (options: Options) => ({
  name: options.name,
  plans: options['allow-plan'],
  max_keys: options['max-keys'] === 'none' ? null : numberIn(options, 'max-keys'),
});

const PROJECT_COMMANDS: Record<string, Command> = {
  'projects list': {
    operands: [],
    options: [],
    request: () => ({ method: 'GET', path: '/projects' }),
    lists: { data: ['id', 'name', 'plans', 'max_keys', 'created_at'] },
  },
  'projects create': {
    operands: ['ID'],
    options: ['name', 'allow-plan', 'max-keys'],
    request: ({ operands: [id], options }) => ({
      method: 'POST',
      path: '/projects',
      body: omitUndefined({ id, ...projectFields(options) }),
    }),
  },
  'projects set': {
    operands: ['ID'],
    options: ['name', 'allow-plan', 'all-plans', 'max-keys'],
    request: ({ operands: [id = ''], options }) => {
      if (options['allow-plan'] && options['all-plans']) {
        throw usageError('--allow-plan and --all-plans are mutually exclusive.');
      }
      const body = omitUndefined({
        ...projectFields(options),
        ...(options['all-plans'] && { plans: null }),
      });
      if (Object.keys(body).length === 0) {
        throw usageError('No field to set: pass --name, --allow-plan, --all-plans or --max-keys.');
      }
      return { method: 'POST', path: `/projects/${encodeURIComponent(id)}`, body };
    },
  },
  'projects delete': {
    operands: ['ID'],
    options: [],
    request: ({ operands: [id = ''] }) => ({
      method: 'POST',
      path: `/projects/${encodeURIComponent(id)}/delete`,
      body: {},
    }),
    question: ({ operands: [id] }) => `The project ${id} is deleted; its id cannot be used again.`,
  },
};

const PLAN_COMMANDS: Record<string, Command> = {
  'plans list': {
    operands: [],
    options: [],
    request: () => ({ method: 'GET', path: '/plans' }),
    lists: { data: PLAN_COLUMNS },
  },
  'plans create': {
    operands: ['ID'],
    options: ['rpm', 'quota', 'period', 'concurrency', 'model', 'replay'],
    request: ({ operands: [id], options }) => {
      for (const name of ['rpm', 'quota', 'period'] as const) required(options, name);
      return {
        method: 'POST',
        path: '/plans',
        body: omitUndefined({ id, ...planFields(options) }),
      };
    },
  },
  'plans set': {
    operands: ['ID'],
    options: ['rpm', 'quota', 'period', 'concurrency', 'model', 'all-models', 'replay'],
    request: ({ operands: [id = ''], options }) => {
      if (options.model && options['all-models']) {
        throw usageError('--model and --all-models are mutually exclusive.');
      }
      const body = omitUndefined({
        ...planFields(options),
        ...(options['all-models'] && { models: null }),
      });
      if (Object.keys(body).length === 0)
        throw usageError(
          'No field to set: pass --rpm, --quota, --period, --concurrency, --model, --all-models or --replay.',
        );
      return { method: 'POST', path: `/plans/${encodeURIComponent(id)}`, body };
    },
    note: () => 'Usage counts are kept. The new limits apply within 15 seconds.',
  },
  'plans delete': {
    operands: ['ID'],
    options: [],
    request: ({ operands: [id = ''] }) => ({
      method: 'POST',
      path: `/plans/${encodeURIComponent(id)}/delete`,
      body: {},
    }),
    question: ({ operands: [id] }) => `The plan ${id} is deleted.`,
  },
};

/** Every command, by resource and verb. */
export const COMMANDS: Record<string, Command> = {
  ...PROJECT_COMMANDS,
  ...PLAN_COMMANDS,
  ...KEY_COMMANDS,
  ...BUDGET_COMMANDS,
  ...DOCTOR_COMMANDS,
  ...REQUEST_COMMANDS,
  ...AUDIT_COMMANDS,
  ...MEMBER_COMMANDS,
  ...USAGE_COMMANDS,
  ...EXPORT_COMMANDS,
  apply: {
    operands: ['FILE'],
    options: ['force'],
    request: async ({ operands: [file = ''], options: { force } }) => ({
      method: 'POST',
      path: '/apply',
      body: { ...(await readJsonFile(file)), ...(force && { force }) },
    }),
    lists: { projects: OUTCOME_COLUMNS, plans: OUTCOME_COLUMNS },
    note: ({ plans }) =>
      JSON.stringify(plans).includes('"outcome":"kept"')
        ? 'Plans that differ from the file are kept. Use --force to overwrite them.'
        : undefined,
  },
};
