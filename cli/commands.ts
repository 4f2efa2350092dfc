import { OPERATIONS, type OperationName } from '../lambdas/operations.ts';
import { APPLY } from './apply.ts';
import { BUDGET_COMMANDS } from './budget-commands.ts';
import { usageError } from './cli-error.ts';
import type { Command } from './command.ts';
import { DOCTOR_COMMANDS } from './doctor-commands.ts';
import { EXPORT_COMMANDS } from './export-commands.ts';
import { formatTable, moreNote, type Row, rowsIn } from './format.ts';
import { KEY_COMMANDS } from './key-commands.ts';
import type { OptionName } from './options.ts';
import { REQUEST_COMMANDS } from './request-commands.ts';
import { TOP } from './top.ts';
import { USAGE_COMMANDS } from './usage-commands.ts';

const COLUMNS = ['at', 'who', 'action', 'project', 'plan', 'key', 'member', 'outcome', 'change'];

const isFields = (value: unknown): value is Row => typeof value === 'object' && value !== null;

/** The fields that differ: `quota 10 -> 20`. What was created has its ids as columns. */
const changeOf = ({ before, after }: Row): string => {
  if (!isFields(before) || !isFields(after)) return '-';
  return Object.keys({ ...before, ...after })
    .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
    .map((name) => `${name} ${before[name] ?? '-'} -> ${after[name] ?? '-'}`)
    .join(', ');
};

const AUDIT_COMMANDS: Record<string, Command> = {
  'audit list': {
    options: ['since', 'until', 'who', 'project', 'limit'],
    print: ({ data }) =>
      formatTable(
        COLUMNS,
        rowsIn(data).map((row) => ({ ...row, change: changeOf(row) })),
      ),
    note: moreNote,
  },
};

const EMAIL = { member: 'EMAIL' };
const ENDS_LATE = 'A page that is open has the earlier roles for up to 15 minutes.';

const describeInvitation = ({ invitation }: Record<string, unknown>): string =>
  invitation === 'none'
    ? 'The member has signed in before, so no e-mail was sent.'
    : 'The temporary password in the e-mail is valid for 3 days; a second invitation sends another.';

const MEMBER_COMMANDS: Record<string, Command> = {
  'members list': {
    options: ['project', 'search'],
    isPaged: true,
    lists: { data: ['email', 'roles', 'status', 'invited_at'] },
  },
  'members invite': {
    operands: { email: 'EMAIL' },
    options: ['role'],
    needs: ['role'],
    reads: {
      role: {
        read: ([role, ...others]) => {
          if (others.length === 0) return role;
          throw usageError('--role is one role here; members set takes several.');
        },
      },
    },
    note: describeInvitation,
  },
  'members set': {
    operands: EMAIL,
    options: ['role'],
    needs: ['role'],
    note: () => ENDS_LATE,
  },
  'members remove': {
    operands: EMAIL,
    question: ({ operands: [email] }) => `${email} is removed from the console.`,
    note: () => ENDS_LATE,
  },
  'operators invite': {
    operation: 'members.invite',
    operands: { email: 'EMAIL' },
    members: () => ({ role: 'operator' }),
    note: describeInvitation,
  },
};

const PLAN_COLUMNS = 'id rpm quota period concurrency models replay state loops'.split(' ');
const PLAN_OPTIONS: OptionName[] = [
  ...(['rpm', 'quota', 'period', 'concurrency', 'model', 'replay', 'state', 'require'] as const),
  ...(['loops', 'max-wait-ms', 'priority', 'weight'] as const),
];
const ID = { operands: { id: 'ID' } };

const PROJECT_COMMANDS: Record<string, Command> = {
  'projects list': {
    lists: { data: ['id', 'name', 'plans', 'max_keys', 'created_at'] },
  },
  'projects create': {
    ...ID,
    options: ['name', 'allow-plan', 'max-keys'],
  },
  'projects set': {
    operands: { project: 'ID' },
    options: ['name', 'allow-plan', 'all-plans', 'max-keys'],
    isChange: true,
  },
  'projects delete': {
    operands: { project: 'ID' },
    question: ({ operands: [id] }) => `The project ${id} is deleted; its id cannot be used again.`,
  },
};

const WEBHOOK = { options: ['project'] } satisfies Partial<Command>;

const WEBHOOK_COMMANDS: Record<string, Command> = {
  'webhooks show': { ...WEBHOOK },
  'webhooks set': {
    operands: { url: 'URL' },
    ...WEBHOOK,
    note: () =>
      'The secret is shown only once. Store it now; the one before signs as well for 24 hours.',
  },
  'webhooks delete': {
    ...WEBHOOK,
    question: ({ options: { project } }) => `The webhook of the project ${project} is deleted.`,
  },
};

const PLAN_COMMANDS: Record<string, Command> = {
  'plans list': { lists: { data: PLAN_COLUMNS } },
  'plans create': {
    ...ID,
    options: PLAN_OPTIONS,
    needs: ['rpm', 'quota', 'period'],
  },
  'plans set': {
    operands: { plan: 'ID' },
    options: [...PLAN_OPTIONS, 'all-models'],
    isChange: true,
    note: () => 'Usage counts are kept. The new limits apply within 15 seconds.',
  },
  'plans delete': {
    operands: { plan: 'ID' },
    question: ({ operands: [id] }) => `The plan ${id} is deleted.`,
  },
};

const ROWS: Record<string, Command> = {
  ...PROJECT_COMMANDS,
  ...WEBHOOK_COMMANDS,
  ...PLAN_COMMANDS,
  ...KEY_COMMANDS,
  ...BUDGET_COMMANDS,
  ...DOCTOR_COMMANDS,
  ...REQUEST_COMMANDS,
  ...AUDIT_COMMANDS,
  ...MEMBER_COMMANDS,
  ...USAGE_COMMANDS,
  ...EXPORT_COMMANDS,
  top: TOP,
  apply: APPLY,
};

const isOperation = (name: string): name is OperationName => Object.hasOwn(OPERATIONS, name);

/** Every command, by resource and verb. The operation of a row that states none is the one with the command's name. */
export const COMMANDS: Record<string, Command> = Object.fromEntries(
  Object.entries(ROWS).map(([name, command]) => {
    const operation = name.replace(' ', '.');
    return [name, isOperation(operation) && !command.perform ? { operation, ...command } : command];
  }),
);
