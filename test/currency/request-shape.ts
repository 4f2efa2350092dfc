import { subscribe } from 'node:diagnostics_channel';
import { IncomingMessage } from 'node:http';
import * as z from 'zod';
import { SCENE_AGENT } from '../agents/budgets.ts';

/** What clients send to servers of this process, without texts and ids: one line for each header, beta, member and tool. */
export type Shape = string[];

const Started = z.object({ request: z.instanceof(IncomingMessage) });
const HEADER = /^(?:anthropic-|openai-|x-|session|thread-|originator)/;
/** Of the environment or the test, not of the release. */
const VARIES = /^x-(?:api-key|stainless-(?:os|arch|runtime-version|retry-count|timeout))$/;

type Json = Record<string, unknown>;

const toolLine = (tool: Json): string => {
  const { type = 'tool', name, function: called } = tool;
  const { name: inner } = (called ?? {}) as Json;
  return `tool ${String(type)} ${String(name ?? inner ?? '')}`;
};

const linesOf = (path: string, headers: IncomingMessage['headers'], body: Json): string[] => [
  ...Object.keys(headers).flatMap((name) =>
    HEADER.test(name) && !VARIES.test(name) ? `${path} header ${name}` : [],
  ),
  ...String(headers['anthropic-beta'] ?? '')
    .split(',')
    .flatMap((beta) => (beta.trim() === '' ? [] : `${path} beta ${beta.trim()}`)),
  ...(headers['anthropic-version'] ? [`${path} version ${headers['anthropic-version']}`] : []),
  ...Object.keys(body).map((name) => `${path} member ${name}`),
  ...(Array.isArray(body.tools) ? body.tools : []).map((one) => `${path} ${toolLine(one)}`),
];

/** Begins to note requests to a router; returns what was noted since the last time. */
export const noteShapes = (baseUrl: string): (() => Shape) => {
  const { host } = new URL(baseUrl);
  let noted = new Set<string>();
  subscribe('http.server.request.start', (message) => {
    const { request } = Started.parse(message);
    const [path = ''] = (request.url ?? '').split('?');
    if (request.method !== 'POST' || !/^\/v1\/(?:chat|messages$|responses$)/.test(path)) return;
    // The embedded upstreams listen in this process as well.
    if (request.headers.host !== host || request.headers['user-agent'] === SCENE_AGENT) return;
    const pieces: Buffer[] = [];
    const { push } = request;
    request.push = (piece: Buffer | null, ...rest) => {
      if (piece) pieces.push(piece);
      else for (const line of linesOf(path, request.headers, parse(pieces))) noted.add(line);
      return push.call(request, piece, ...rest);
    };
  });
  return () => {
    const lines = [...noted].toSorted();
    noted = new Set();
    return lines;
  };
};

const parse = (pieces: Buffer[]): Json => {
  try {
    return JSON.parse(Buffer.concat(pieces).toString());
  } catch {
    return {};
  }
};
