import { gunzipSync, gzipSync } from 'node:zlib';

/**
 * The text of one stream, for all of its readers: the first caller, repeats in the same process, and the
 * store. It grows at the pace of the upstream, also when a reader is slow or has disconnected.
 */
export type Recording = {
  /** Adds complete messages. */
  append(text: string): void;
  /** Readers end after the last message. */
  end(): void;
  /** Resolves at the end. */
  readonly ended: Promise<void>;
  isEmpty(): boolean;
  /** All text from the beginning, then what is appended; ends after `end`. */
  read(): AsyncGenerator<string, void, void>;
  /** The text and what will follow it, compressed with gzip. */
  compress(rest: string): Uint8Array;
};

/** Characters that are held as text; more are compressed, to a tenth or less. */
const TAIL_LENGTH = 262_144;

/** A signal that can be awaited repeatedly. */
const createBell = () => {
  let next = Promise.withResolvers<void>();
  return {
    wait: (): Promise<void> => next.promise,
    ring: () => {
      next.resolve();
      next = Promise.withResolvers<void>();
    },
  };
};

export const createRecording = (): Recording => {
  const bell = createBell();
  const whenEnded = Promise.withResolvers<void>();
  /** Each is one gzip member; members in a row are one gzip file. */
  const members: Uint8Array[] = [];
  let tail = '';
  let isEnded = false;

  /** The text that has `index` members before it: a member, or the tail. */
  const textAt = (index: number): string => {
    const member = members[index];
    return member ? gunzipSync(member).toString() : tail;
  };

  async function* read(): AsyncGenerator<string, void, void> {
    for (let index = 0, offset = 0; ; ) {
      const isMember = index < members.length;
      const text = textAt(index);
      const rest = text.slice(offset);
      // The tail may become a member while this reader is suspended; its offset stays valid.
      [index, offset] = isMember ? [index + 1, 0] : [index, text.length];
      if (rest !== '') yield rest;
      else if (isMember) continue;
      else if (isEnded) return;
      else await bell.wait();
    }
  }

  return {
    append: (text) => {
      tail += text;
      if (tail.length > TAIL_LENGTH) {
        members.push(gzipSync(tail));
        tail = '';
      }
      bell.ring();
    },
    end: () => {
      isEnded = true;
      bell.ring();
      whenEnded.resolve();
    },
    ended: whenEnded.promise,
    isEmpty: () => members.length === 0 && tail === '',
    read,
    compress: (rest) => Buffer.concat([...members, gzipSync(tail + rest)]),
  };
};
