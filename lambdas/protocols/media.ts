import { invalidRequest } from '../support/errors.ts';
import type { Block, MediaSource } from './generation.ts';
import { MEDIA, type Medium } from './profile.ts';

const DATA_URL = /^data:([a-z0-9.+/-]+)(?:;[a-z0-9.+=-]+)*;base64,([A-Za-z0-9+/]+={0,2})$/i;
const HTTP_URL = /^https?:\/\//i;
const MEDIA_TYPE = /^[a-z0-9.+-]+\/[a-z0-9.+-]+$/i;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Media types that every vision model accepts. */
const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];

/**
 * Parses a data URL or an http(s) URL. The router never fetches URLs.
 * @throws ApiError 400 naming `param`.
 */
export const parseMediaUrl = (url: string, param: string): MediaSource => {
  if (HTTP_URL.test(url)) return { kind: 'url', url };
  const match = DATA_URL.exec(url);
  const [, mediaType, data] = match ?? [];
  if (mediaType === undefined || data === undefined) {
    throw invalidRequest(`${param}: must be an http(s) URL or a base64 data URL.`, { param });
  }
  return { kind: 'base64', mediaType: mediaType.toLowerCase(), data };
};

/** The content of a file: a data URL, or base64 alone, whose type the name tells; PDF, if it does not. @throws ApiError 400 */
export const parseFileData = (
  data: string,
  filename: string | undefined,
  param: string,
): MediaSource => {
  if (data.startsWith('data:') || !BASE64.test(data)) return parseMediaUrl(data, param);
  const isText = /\.(?:txt|md|csv)$/i.test(filename ?? '');
  return { kind: 'base64', mediaType: isText ? 'text/plain' : 'application/pdf', data };
};

/** Checks the URL's scheme and the base64 data. @throws ApiError 400 */
export const assertMedia = (source: MediaSource, param: string): void => {
  if (source.kind === 'url' && !HTTP_URL.test(source.url)) {
    throw invalidRequest(`${param}.url: must be an http(s) URL.`, { param });
  }
  if (source.kind === 'base64' && !MEDIA_TYPE.test(source.mediaType)) {
    throw invalidRequest(`${param}.media_type: must be a media type.`, { param });
  }
  if (source.kind === 'base64' && !BASE64.test(source.data)) {
    throw invalidRequest(`${param}.data: must be base64.`, { param });
  }
};

/** `image/jpg` is in use but not registered; not every vendor accepts it. */
const registered = (mediaType: string): string =>
  mediaType === 'image/jpg' ? 'image/jpeg' : mediaType;

/** The source with a registered type. @throws ApiError 400 unless models accept the type. */
export const assertImage = (source: MediaSource, param: string): MediaSource => {
  assertMedia(source, param);
  if (source.kind === 'url') return source;
  const mediaType = registered(source.mediaType);
  if (IMAGE_TYPES.includes(mediaType)) return { ...source, mediaType };
  throw invalidRequest(`${param}: image type must be one of ${IMAGE_TYPES.join(', ')}.`, { param });
};

/** The source's URL, or its data as a data URL. */
export const formatMediaUrl = (source: MediaSource): string =>
  source.kind === 'url' ? source.url : `data:${source.mediaType};base64,${source.data}`;

/** Whether the source is a PDF, which vision models read page by page. */
export const isPdf = (source: MediaSource): boolean =>
  source.kind === 'url'
    ? /\.pdf(?:[?#]|$)/i.test(source.url)
    : source.mediaType === 'application/pdf';

const mediumOf = (block: Block): Medium | undefined => {
  if (block.type === 'image') return 'image';
  if (block.type === 'document') return block.source.kind === 'text' ? undefined : 'pdf';
  if (block.type !== 'native') return undefined;
  const kind = String(block.value.type);
  return MEDIA.find((medium) => kind.includes(medium));
};

/** The media in blocks and in results, which a model may not accept. */
export const mediaIn = (blocks: Block[]): Medium[] =>
  blocks.flatMap((block) =>
    block.type === 'tool-result' ? mediaIn(block.content) : (mediumOf(block) ?? []),
  );
