import { createResponseReader } from '../../../lambdas/http-client/response-reader.ts';
import type { Outcome } from './node-oracle.ts';

/** What the reader makes of bytes, after which the connection ends. */
export type Reading = {
  outcome: Outcome;
  /** How many bytes the response has, where it does not end with the connection. */
  length: number | undefined;
  mayContinue: boolean;
};

const REJECTED: Reading = { outcome: 'rejected', length: undefined, mayContinue: false };

/** Gives the pieces to a reader until the response is complete. */
export const readPieces = (pieces: Uint8Array[]): Reading => {
  let status = 0;
  let body = '';
  const reader = createResponseReader({
    onHead: (head) => {
      status = head.status;
    },
    onData: (bytes) => {
      body += bytes.toString('latin1');
    },
  });
  try {
    let length = 0;
    for (const piece of pieces) {
      length += piece.length;
      if (!reader.push(Buffer.from(piece))) continue;
      return { outcome: { status, body }, length, mayContinue: reader.canContinue() };
    }
    if (!reader.end()) return REJECTED;
    return { outcome: { status, body }, length: undefined, mayContinue: reader.canContinue() };
  } catch {
    return REJECTED;
  }
};

/** Byte for byte, which finds the response's exact length. */
export const readBytes = (bytes: Uint8Array): Reading =>
  readPieces(Array.from(bytes, (byte) => Uint8Array.of(byte)));
