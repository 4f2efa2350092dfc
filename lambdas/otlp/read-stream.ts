import type { RefusedRequest, RequestRecord } from '../stores/record-store.ts';
import { SORT_KEY } from '../tables.ts';
import type { Entry } from './exporter.ts';

/** What a stream of DynamoDB says of an item: how a text and a number are written. */
type Image = Record<string, { S?: string; N?: string }>;

/** An event of the stream of the table of records. */
export type StreamEvent = {
  Records: {
    eventName?: string;
    dynamodb?: { SequenceNumber?: string; Keys?: Image; NewImage?: Image };
  }[];
};

/** Partitions of a project's day that hold no requests which took a unit end in these names (record-store.ts). */
const REFUSED = '|refused';
const PARTS = '|parts';
const REQUEST = 'req_';

const partitionIn = (keys: Image): string =>
  Object.entries(keys).find(([name]) => name !== SORT_KEY)?.[1].S ?? '';

/** What is exported of an item of the table; undefined: nothing, as of hashes, counts of refusals and items that expire. */
export const entryOf = ({ dynamodb = {} }: StreamEvent['Records'][number]): Entry | undefined => {
  const { Keys: keys = {}, NewImage: image } = dynamodb;
  const text = image?.entry?.S;
  const partition = partitionIn(keys);
  if (text === undefined || !keys[SORT_KEY]?.S?.startsWith(REQUEST)) return undefined;
  if (partition.endsWith(PARTS)) return undefined;
  if (partition.endsWith(REFUSED)) return { refused: JSON.parse(text) as RefusedRequest };
  const isFirst = image?.revision?.N === '1';
  return { record: JSON.parse(text) as RequestRecord, isFirst };
};
