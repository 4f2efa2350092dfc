import * as z from 'zod';
import type { Delivered } from '../http/read-event.ts';
import { type Identity, isRole, type Role } from './roles.ts';

/** Claims of an ID token that API Gateway's Cognito authorizer verified. */
const Claims = z.object({
  sub: z.string(),
  email: z.string().exactOptional(),
  /** Every claim is a text here. */
  email_verified: z.string().exactOptional(),
  'cognito:groups': z.string().exactOptional(),
});
const Authorizer = z.object({ claims: Claims });

/** API Gateway joins the groups with commas; ids of projects have none. Other groups of the pool are ignored. */
const rolesIn = (groups = ''): Role[] => groups.split(/[[\],\s]+/).filter(isRole);

/**
 * Who API Gateway authenticated: the IAM caller whose signature it verified, an operator; or the user of a Cognito
 * pool, whose groups are the roles. Undefined for methods with neither authorization.
 */
export const identify = (event: Delivered): Identity | undefined => {
  if (!('httpMethod' in event)) return undefined;
  const { identity, authorizer } = event.requestContext;
  if (identity.userArn) return { name: identity.userArn, roles: ['operator'] };
  const { data } = Authorizer.safeParse(authorizer);
  if (!data) return undefined;
  const { email, email_verified, sub, 'cognito:groups': groups } = data.claims;
  // An address that was not verified may be another person's.
  const address = email_verified === 'true' ? email : undefined;
  return { name: address ?? sub, roles: rolesIn(groups) };
};
