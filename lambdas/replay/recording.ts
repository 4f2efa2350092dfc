import { gunzipSync, gzipSync } from 'node:zlib';

/**
 * The text of one stream, for all of its readers: the first caller, repeats in the same process, and the
 * store. It grows at the pace of the upstream, also when a reader is slow or has disconnected.
 */
export type Recording = {
  append(text: string): void;
  /** Readers end after the last message. */
  end(): void;
  readonly ended: Promise<void>;
  isEmpty(): boolean;
  /** All text from the beginning, then what is appended; ends after `end`. */
  read(): AsyncGenerator<string, void, void>;
  /** The text and what will follow it, compressed with gzip. */
  compress(rest: string): Uint8Array;
};

/** Characters that are held as text; more are compressed, to a tenth or less. */
const TAIL_LENGTH = 262_144;

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

/** After `index` members; `characters` and `texts` are the same place in the tail, which may become a member. */
type Position = { index: number; characters: number; texts: number };
const START: Position = { index: 0, characters: 0, texts: 0 };

export const createRecording = (): Recording => {
  const bell = createBell();
  const whenEnded = Promise.withResolvers<void>();
  /** Each is one gzip member; members in a row are one gzip file. */
  const members: Uint8Array[] = [];
  /** Texts since the last member, joined when they are read: a slice of one growing text would copy all of it each time. */
  let tail: string[] = [];
  let tailLength = 0;
  let isEnded = false;

  const readFrom = ({ index, characters, texts }: Position): { text: string; end: Position } => {
    const member = members[index];
    if (member) {
      const text = gunzipSync(member).toString().slice(characters);
      return { text, end: { ...START, index: index + 1 } };
    }
    const text = tail.slice(texts).join('');
    return { text, end: { index, characters: characters + text.length, texts: tail.length } };
  };

  async function* read(): AsyncGenerator<string, void, void> {
    for (let position = START; ; ) {
      const { text, end } = readFrom(position);
      const isMember = end.index > position.index;
      position = end;
      if (text !== '') yield text;
      else if (isMember) continue;
      else if (isEnded) return;
      else await bell.wait();
    }
  }

  return {
    append: (text) => {
      tail.push(text);
      tailLength += text.length;
      if (tailLength > TAIL_LENGTH) {
        members.push(gzipSync(tail.join('')));
        tail = [];
        tailLength = 0;
      }
      bell.ring();
    },
    end: () => {
      isEnded = true;
      bell.ring();
      whenEnded.resolve();
    },
    ended: whenEnded.promise,
    isEmpty: () => members.length === 0 && tailLength === 0,
    read,
    compress: (rest) => Buffer.concat([...members, gzipSync(tail.join('') + rest)]),
  };
};
