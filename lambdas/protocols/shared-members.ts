/**
 * Members of a request that mean the same in several protocols, with the same values. A row is all that such a member needs:
 * decoders keep it under chat's name, encoders write it to its path, and the ledger names it on targets that have no path for it.
 */
import { asRecord, type Json } from './bytes/json.ts';
import type { GenerationRequest } from './generation.ts';
import { extraFieldsFor } from './ledger/extras.ts';
import {
  type CallerProtocolName,
  UPSTREAM_PROTOCOLS,
  type UpstreamProtocolName,
} from './protocol-name.ts';

/** A member, or a member of one. */
type Path = readonly [string] | readonly [string, string];

/** Where each protocol has the member; what `chat` calls it names it inside the router. */
type SharedMember = { [Name in Exclude<UpstreamProtocolName, 'chat'>]?: Path } & {
  chat: readonly [string];
  /** Values that ask for what a target does anyway: their loss is not named. */
  usual?: readonly unknown[];
  /** It names the request for its sender: its loss changes no response. */
  isLabel?: true;
};

const SHARED: readonly SharedMember[] = [
  { chat: ['seed'], gemini: ['generationConfig', 'seed'] },
  { chat: ['frequency_penalty'], gemini: ['generationConfig', 'frequencyPenalty'], usual: [0] },
  { chat: ['presence_penalty'], gemini: ['generationConfig', 'presencePenalty'], usual: [0] },
  { chat: ['verbosity'], responses: ['text', 'verbosity'], usual: ['medium'] },
  { chat: ['service_tier'], responses: ['service_tier'], usual: ['auto', 'default'] },
  { chat: ['safety_identifier'], responses: ['safety_identifier'], isLabel: true },
];

const valueAt = (wire: Json, [name, inner]: Path): unknown =>
  inner === undefined ? wire[name] : asRecord(wire[name])?.[inner];

/** The shared members of a received request, under chat's names; undefined if it has none. */
export const sharedIn = (from: 'messages' | 'responses', wire: Json): Json | undefined => {
  let shared: Json | undefined;
  for (const { chat, [from]: path } of SHARED) {
    const value = path && valueAt(wire, path);
    if (value !== undefined && value !== null) shared = { ...shared, [chat[0]]: value };
  }
  return shared;
};

/** The shared members of a caller of another protocol, where a target of `to` has them; those inside a member in an object. */
export const sharedFor = (
  to: Exclude<UpstreamProtocolName, 'chat'>,
  { chatFields, extras }: GenerationRequest,
): Json => {
  const fields = chatFields ?? extraFieldsFor('chat', extras);
  const written: Json = {};
  for (const { chat, [to]: path } of SHARED) {
    const value = fields[chat[0]];
    if (path === undefined || value === undefined) continue;
    const [name, inner] = path;
    written[name] = inner === undefined ? value : { ...asRecord(written[name]), [inner]: value };
  }
  return written;
};

/** The members that a target of `to` rejects, by their paths in the request of another protocol. */
export const sharedLosses = (
  to: UpstreamProtocolName,
  { chatFields, extras }: GenerationRequest,
  rejected: readonly string[] = [],
): string[] => {
  const fields = chatFields ?? extraFieldsFor('chat', extras);
  return SHARED.flatMap(({ usual = [], isLabel, ...paths }) => {
    const [name] = paths.chat;
    const isSent = rejected.includes(name) && paths[to] !== undefined && fields[name] != null;
    if (!isSent || isLabel || usual.includes(fields[name])) return [];
    return [(extras.protocol === 'responses' ? paths.responses : undefined)?.join('.') ?? name];
  });
};

/** The rows of the ledger for the shared members of a protocol's requests, or for those inside the member `parent`. */
export const sharedPaths = (from: CallerProtocolName, parent?: string) =>
  SHARED.flatMap(({ usual = [], isLabel, ...paths }) => {
    const [name, inner] = paths[from] ?? [];
    const own = parent === undefined ? inner === undefined && name : name === parent && inner;
    const to = UPSTREAM_PROTOCOLS.filter((other) => other !== from && paths[other] !== undefined);
    return own ? [{ name: own, to, usual, isLabel }] : [];
  });
