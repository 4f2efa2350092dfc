import { gunzipSync, gzipSync } from 'node:zlib';
import { type Json, readJson, readJsonObject } from '../protocols/bytes/json.ts';
import type { ResponseStore, StoredResponse } from '../stores/response-store.ts';
import { StoreUnavailable } from '../stores/store-unavailable.ts';
import { sha256Of } from '../support/bytes.ts';
import { retryLater } from '../support/errors.ts';
import { objectsIn } from './items.ts';

export type Found = Omit<StoredResponse, 'input' | 'response'> & {
  id: string;
  key: string;
  input: Json[];
  /** As JSON, and parsed. */
  text: string;
  response: Json;
};

/** The key of a response in the store: no other project computes it, so that its ids do not exist there. */
export const keyOf = (projectId: string, id: string): string =>
  `R-${sha256Of(`${projectId}\n${id}`)}`;

export const pack = (json: string): Uint8Array => gzipSync(json);

const unpack = (bytes: Uint8Array): string => gunzipSync(bytes).toString();

const unavailable = (cause: unknown) =>
  retryLater('Stored responses are unavailable. Repeat the request later.', cause);

/** @throws ApiError 503 if the store fails, and what else `verb` throws */
export const withStore = async <Value>(verb: () => Promise<Value>): Promise<Value> => {
  try {
    return await verb();
  } catch (error) {
    throw error instanceof StoreUnavailable ? unavailable(error) : error;
  }
};

export type FindResponse = (projectId: string, id: string) => Promise<Found | undefined>;

/** Finds a response of a project; undefined if it has none of this id. @throws ApiError 503 */
export const createFind =
  (responses: Pick<ResponseStore, 'find'>, now: () => number): FindResponse =>
  async (projectId, id) => {
    const key = keyOf(projectId, id);
    const stored = await withStore(() => responses.find(key, now()));
    if (!stored) return undefined;
    const text = unpack(stored.response);
    const input = objectsIn(readJson(unpack(stored.input)));
    return { ...stored, id, key, input, text, response: readJsonObject(text) ?? {} };
  };
