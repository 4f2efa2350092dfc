import type * as z from 'zod';
import type { JsonReply } from '../endpoints/endpoint.ts';
import type { Action, Change } from '../stores/audit-store.ts';
import { readInput } from './input.ts';
import type { Identity, Need } from './roles.ts';

/** A request past the shared middlewares and the check of its roles. */
export type AdminRequest<Input = unknown> = {
  identity: Identity;
  /** What the path's `{placeholders}` stood for, percent-decoded. */
  parameters: Record<string, string>;
  /** Parameters of the query, decoded. */
  query: Readonly<Record<string, string>>;
  /** The body: parsed JSON, then what the route's schema made of it; undefined for GET. */
  input: Input;
};

/** What an operation of the admin API does. @throws ApiError */
export type AdminOperation<Input = unknown> = (request: AdminRequest<Input>) => Promise<JsonReply>;

/** The same of an operation that changes something. An `ApiError` below 500 means that it changed nothing. */
export type AdminChange<Input = unknown> = (
  request: AdminRequest<Input>,
) => Promise<JsonReply & { changes: Change[] }>;

type Prepared = { input: unknown; perform(): Promise<JsonReply & { changes?: Change[] }> };

/** A row of the table of operations (operations.ts). */
export type AdminRoute = {
  method: 'GET' | 'POST';
  /** A path below the prefix of the API; each `{name}` takes one segment. */
  pattern: string;
  need: Need;
  /** The audit's name of what the operation changes; undefined if it changes nothing. */
  action: Action | undefined;
  /** Validates the body before anything is done. @throws ApiError 400 */
  prepare(request: AdminRequest): Prepared;
};

/** An operation that only reads. */
export const read = (need: Need, pattern: string, operate: AdminOperation): AdminRoute => ({
  method: 'GET',
  pattern,
  need,
  action: undefined,
  prepare: (request) => ({ input: undefined, perform: () => operate(request) }),
});

const prepareWith =
  <Input extends z.ZodType, Reply>(
    schema: Input,
    operate: (request: AdminRequest<z.output<Input>>) => Promise<Reply>,
  ) =>
  (request: AdminRequest) => {
    const input = readInput(schema, request.input);
    return { input, perform: () => operate({ ...request, input }) };
  };

/** An operation with a body that changes no project, plan or key. */
export const run = <Input extends z.ZodType>(
  need: Need,
  pattern: string,
  schema: Input,
  operate: AdminOperation<z.output<Input>>,
): AdminRoute => ({
  method: 'POST',
  pattern,
  need,
  action: undefined,
  prepare: prepareWith(schema, operate),
});

/** An operation whose changes the audit keeps. */
export const change = <Input extends z.ZodType>(
  need: Need,
  pattern: string,
  action: Action,
  schema: Input,
  operate: AdminChange<z.output<Input>>,
): AdminRoute => ({
  method: 'POST',
  pattern,
  need,
  action,
  prepare: prepareWith(schema, operate),
});
