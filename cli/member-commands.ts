import { usageError } from './cli-error.ts';
import type { Command } from './command.ts';
import { withQuery } from './read-options.ts';

const inviteTo = (email: string | undefined, role: string | undefined) => ({
  method: 'POST' as const,
  path: '/members',
  body: { email, role },
});

const pathOf = (email = ''): string => `/members/${encodeURIComponent(email)}`;

/** @throws CliError 2 */
const rolesIn = (roles: string[] | undefined): string[] => {
  if (roles) return roles;
  throw usageError('Missing option: --role');
};

const ENDS_LATE = 'A page that is open has the earlier roles for up to 15 minutes.';

const describeInvitation = ({ invitation }: Record<string, unknown>): string =>
  invitation === 'none'
    ? 'The member has signed in before, so no e-mail was sent.'
    : 'The temporary password in the e-mail is valid for 3 days; a second invitation sends another.';

/** Users of the console of a stack. */
export const MEMBER_COMMANDS: Record<string, Command> = {
  'members list': {
    operands: [],
    options: ['project', 'search'],
    request: ({ options: { project, search } }) => ({
      method: 'GET',
      path: withQuery('/members', { project, q: search }),
    }),
    isPaged: true,
    lists: { data: ['email', 'roles', 'status', 'invited_at'] },
  },
  'members invite': {
    operands: ['EMAIL'],
    options: ['role'],
    request: ({ operands: [email], options }) => {
      const [role, ...others] = rolesIn(options.role);
      if (others.length === 0) return inviteTo(email, role);
      throw usageError('--role is one role here; members set takes several.');
    },
    note: describeInvitation,
  },
  'members set': {
    operands: ['EMAIL'],
    options: ['role'],
    request: ({ operands: [email], options }) => ({
      method: 'POST',
      path: pathOf(email),
      body: { roles: rolesIn(options.role) },
    }),
    note: () => ENDS_LATE,
  },
  'members remove': {
    operands: ['EMAIL'],
    options: [],
    request: ({ operands: [email] }) => ({
      method: 'POST',
      path: `${pathOf(email)}/remove`,
      body: {},
    }),
    question: ({ operands: [email] }) => `${email} is removed from the console.`,
    note: () => ENDS_LATE,
  },
  'operators invite': {
    operands: ['EMAIL'],
    options: [],
    request: ({ operands: [email] }) => inviteTo(email, 'operator'),
    note: describeInvitation,
  },
};
