/** What an upstream's answer means; how it is cut into events and bytes is another matter. */
export type Meant = {
  /** What the ids of its items end in, where a vendor has some; those of a session differ. */
  id?: string;
  /** Before the text, with the vendor's signature; the chat protocol has no place for it. */
  thinking?: { text: string; signature: string };
  text: string;
  calls: { id: string; name: string; arguments: string }[];
  finish: 'stop' | 'length' | 'tool-calls';
  /** `input` includes what was read from the cache, and what was written to it for 5 minutes and for an hour. */
  usage: {
    input: number;
    cached: number;
    written5m?: number;
    written1h?: number;
    output: number;
  };
};

/** How the meant answer is put on the wire. */
export type WireForm = {
  /** One JSON body where a stream was asked for, as some servers do. */
  isWhole: boolean;
  /** Writes every character beyond ASCII as an escape, as Python servers do. */
  isAscii: boolean;
  /** UTF-16 units of each piece of text and of arguments; the last is repeated. */
  units: number[];
};

/** Cuts between UTF-16 units, wherever they are: half a pair is written as an escape. */
export const cutUnits = (text: string, units: number[]): string[] => {
  const pieces: string[] = [];
  for (let at = 0, turn = 0; at < text.length; turn += 1) {
    const size = units[Math.min(turn, units.length - 1)] ?? text.length;
    pieces.push(text.slice(at, at + size));
    at += size;
  }
  return pieces;
};

/** @param args JSON texts that stand where the value has `@args 0` and so on */
export const toJson = (value: unknown, { isAscii }: WireForm, args: string[] = []): string => {
  const text = JSON.stringify(value).replace(/"@args (\d+)"/g, (_, at) => args[at] ?? '{}');
  if (!isAscii) return text;
  return text.replaceAll(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
};
