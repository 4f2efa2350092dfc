import { usageError } from './cli-error.ts';
import type { Command } from './command.ts';

const EMAIL = { member: 'EMAIL' };
const ENDS_LATE = 'A page that is open has the earlier roles for up to 15 minutes.';

const describeInvitation = ({ invitation }: Record<string, unknown>): string =>
  invitation === 'none'
    ? 'The member has signed in before, so no e-mail was sent.'
    : 'The temporary password in the e-mail is valid for 3 days; a second invitation sends another.';

/** Users of the console of a stack. */
export const MEMBER_COMMANDS: Record<string, Command> = {
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
