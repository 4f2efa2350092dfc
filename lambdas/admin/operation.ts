import type * as z from 'zod';
import type { JsonReply, TextReply } from '../endpoints/endpoint.ts';
import {
  methodOf,
  type NamesOf,
  type Need,
  OPERATIONS,
  type OperationName,
} from '../operations.ts';
import type { Action, Made } from '../stores/audit-store.ts';
import { BODIES, NoFields, readInput } from './input.ts';
import { QUERIES } from './queries.ts';
import type { Identity } from './roles.ts';

type OutputOf<Schemas, Name> = Name extends keyof Schemas
  ? z.output<Schemas[Name] & z.ZodType>
  : unknown;

/** A request past the shared middlewares and the check of its roles. */
export type AdminRequest<Input = unknown, Query = unknown> = {
  identity: Identity;
  /** What the path's `{placeholders}` stood for, percent-decoded. */
  parameters: Record<string, string>;
  /** Parameters of the query, as the operation's schema reads them. */
  query: Query;
  /** The body, as the operation's schema reads it. */
  input: Input;
};

/** A page, a file or metrics; everything else is JSON. */
export type PlainReply = JsonReply | TextReply;

type Changed = JsonReply & { changes: Made[] };

/** What each operation does. An `ApiError` below 500 of a change means that it changed nothing. @throws ApiError */
export type Operations = {
  [Name in OperationName]: (
    request: AdminRequest<OutputOf<typeof BODIES, Name>, OutputOf<typeof QUERIES, Name>>,
  ) => Promise<
    Name extends NamesOf<'change'> ? Changed : Name extends 'metrics' ? TextReply : JsonReply
  >;
};
export type Operation<Name extends OperationName> = Operations[Name];

export type AdminRoute = {
  method: 'GET' | 'POST';
  /** A path below the prefix of the API; each `{name}` takes one segment. */
  pattern: string;
  need: Need;
  /** The audit's name of what the operation changes; undefined if it changes nothing. */
  action: Action | undefined;
  /** Validates query and body before anything is done. @throws ApiError 400 */
  prepare(request: AdminRequest): {
    input: unknown;
    perform(): Promise<PlainReply & { changes?: Made[] }>;
  };
};

/** Budgets of keys, users and so on are budgets in the audit. */
const actionOf = (name: NamesOf<'change'>): Action =>
  name.replace(/^\w+-(?=budgets)/, '') as Action;

const schemaOf = (schemas: Partial<Record<OperationName, z.ZodType>>, name: OperationName) =>
  schemas[name];

/** The routes of the operations: the one place where a row, its schemas and its function meet. */
export const routesOf = (operations: Operations): AdminRoute[] =>
  (Object.keys(OPERATIONS) as OperationName[]).map((name) => {
    const [kind, need, pattern] = OPERATIONS[name];
    const operate = operations[name] as (request: AdminRequest) => Promise<PlainReply>;
    const [body, query] = [schemaOf(BODIES, name) ?? NoFields, schemaOf(QUERIES, name)];
    return {
      method: methodOf(name),
      pattern,
      need,
      action: kind === 'change' ? actionOf(name as NamesOf<'change'>) : undefined,
      prepare: (request) => {
        const input = kind === 'read' ? undefined : readInput(body, request.input);
        const asked = query ? readInput(query, request.query, 'The query') : request.query;
        return { input, perform: () => operate({ ...request, query: asked, input }) };
      },
    };
  });
