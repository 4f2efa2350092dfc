import * as z from 'zod/mini';
import type { Timeouts } from './exchange.ts';
import { createJsonService } from './json-service.ts';
import { AwsError, type AwsOptions } from './signed-client.ts';

const TIMEOUTS: Timeouts = { connectMs: 1_000, requestMs: 5_000 };

/** Users that one page lists; the roles of each are a call, of which Cognito admits 50 a second. */
const PAGE_SIZE = 25;

export type PoolUser = {
  email: string;
  /** `invited` until the first sign-in. */
  status: 'invited' | 'active' | 'disabled';
  /** Milliseconds since the epoch. */
  invitedAt: number;
};

export type PoolPage = { users: PoolUser[]; nextToken: string | undefined };

const Attributes = z.array(z.object({ Name: z.string(), Value: z._default(z.string(), '') }));
const User = z.object({
  Username: z.string(),
  UserStatus: z.string(),
  Enabled: z.boolean(),
  /** Seconds since the epoch. */
  UserCreateDate: z.number(),
  Attributes,
});
/** AdminGetUser calls them otherwise. */
const FoundUser = z.object({ UserAttributes: Attributes });
/** ListUsers calls its cursor otherwise than ListUsersInGroup. */
const Users = z.object({
  Users: z.array(User),
  PaginationToken: z.exactOptional(z.string()),
  NextToken: z.exactOptional(z.string()),
});
const Groups = z.object({
  Groups: z.array(z.object({ GroupName: z.string() })),
  NextToken: z.exactOptional(z.string()),
});

/** A user who has never signed in is invited again; the temporary password lasts 3 days. */
export type Invitation = 'sent' | 'sent again' | 'none';

const statusOf = ({ Enabled, UserStatus }: z.infer<typeof User>): PoolUser['status'] => {
  if (!Enabled) return 'disabled';
  return UserStatus === 'FORCE_CHANGE_PASSWORD' ? 'invited' : 'active';
};

const attributeIn = (attributes: z.infer<typeof Attributes>, name: string): string | undefined =>
  attributes.find(({ Name }) => Name === name)?.Value;

const userIn = (user: z.infer<typeof User>): PoolUser => ({
  email: attributeIn(user.Attributes, 'email') ?? user.Username,
  status: statusOf(user),
  invitedAt: user.UserCreateDate * 1_000,
});

const pageIn = (response: unknown): PoolPage => {
  const { Users: users, PaginationToken, NextToken } = Users.parse(response);
  return { users: users.map(userIn), nextToken: PaginationToken ?? NextToken };
};

/**
 * The users of a Cognito pool, who sign in with their e-mail addresses, and their groups. Every change may be
 * repeated. @throws AwsError, or the error of the connection
 */
export const createUserPool = ({ id, ...options }: AwsOptions & { id: string }) => {
  const service = createJsonService(
    {
      service: 'cognito-idp',
      targetPrefix: 'AWSCognitoIdentityProviderService',
      version: '1.1',
      timeouts: TIMEOUTS,
    },
    options,
  );
  const call = (operation: string, input: object) =>
    service.call(operation, { UserPoolId: id, ...input });

  /** Undefined if the service rejects the call by this name. */
  const callUnless = async (rejection: string, operation: string, input: object) => {
    try {
      return await call(operation, input);
    } catch (error) {
      if (error instanceof AwsError && error.name === rejection) return undefined;
      throw error;
    }
  };

  /** Users whose address begins with a text. */
  const listUsers = async (prefix: string, token?: string): Promise<PoolPage> => {
    const filter = prefix === '' ? {} : { Filter: `email ^= ${JSON.stringify(prefix)}` };
    const next = token === undefined ? {} : { PaginationToken: token };
    return pageIn(await call('ListUsers', { Limit: PAGE_SIZE, ...filter, ...next }));
  };

  /** A group that does not exist has no users. */
  const listGroup = async (group: string, token?: string): Promise<PoolPage> => {
    const next = token === undefined ? {} : { NextToken: token };
    const input = { GroupName: group, Limit: PAGE_SIZE, ...next };
    const found = await callUnless('ResourceNotFoundException', 'ListUsersInGroup', input);
    return pageIn(found ?? { Users: [] });
  };

  /** Undefined if there is no such user. */
  const groupsOf = async (email: string): Promise<string[] | undefined> => {
    const groups: string[] = [];
    for (let next = {}; ; ) {
      const input = { Username: email, ...next };
      const found = await callUnless('UserNotFoundException', 'AdminListGroupsForUser', input);
      if (!found) return undefined;
      const { Groups: page, NextToken } = Groups.parse(found);
      groups.push(...page.map(({ GroupName }) => GroupName));
      if (NextToken === undefined) return groups;
      next = { NextToken };
    }
  };

  const invite = async (email: string): Promise<Invitation> => {
    const user = { Username: email, DesiredDeliveryMediums: ['EMAIL'] };
    const UserAttributes = [
      { Name: 'email', Value: email },
      { Name: 'email_verified', Value: 'true' },
    ];
    const create = { ...user, UserAttributes };
    if (await callUnless('UsernameExistsException', 'AdminCreateUser', create)) return 'sent';
    const resend = { ...user, MessageAction: 'RESEND' };
    const resent = await callUnless('UnsupportedUserStateException', 'AdminCreateUser', resend);
    return resent ? 'sent again' : 'none';
  };

  /** Whether the user whom an address names has shown to own it; false if there is no such user. */
  const isVerified = async (email: string): Promise<boolean> => {
    const input = { Username: email };
    const found = await callUnless('UserNotFoundException', 'AdminGetUser', input);
    if (!found) return false;
    return attributeIn(FoundUser.parse(found).UserAttributes, 'email_verified') === 'true';
  };

  /** Creates the group if it does not exist. */
  const addToGroup = async (email: string, group: string): Promise<void> => {
    const input = { Username: email, GroupName: group };
    if (await callUnless('ResourceNotFoundException', 'AdminAddUserToGroup', input)) return;
    await callUnless('GroupExistsException', 'CreateGroup', { GroupName: group });
    await call('AdminAddUserToGroup', input);
  };

  const removeFromGroup = async (email: string, group: string): Promise<void> => {
    await call('AdminRemoveUserFromGroup', { Username: email, GroupName: group });
  };

  const removeUser = async (email: string): Promise<void> => {
    await callUnless('UserNotFoundException', 'AdminDeleteUser', { Username: email });
  };

  return {
    listUsers,
    listGroup,
    groupsOf,
    invite,
    isVerified,
    addToGroup,
    removeFromGroup,
    removeUser,
    destroy: service.destroy,
  };
};

export type UserPool = ReturnType<typeof createUserPool>;
