import type { DocumentBlock, GenerationRequest } from '../generation.ts';
import { partsBeyond } from '../native-parts.ts';
import { NAME } from './name.ts';

/** The vendor's limit. */
const MAX_STOPS = 4;

/** A PDF by URL from a chat caller came as an image, and is sent as one. */
const documentName = ({ source, extras }: DocumentBlock): string | undefined =>
  source.kind === 'url' && extras?.protocol !== NAME ? 'document by URL' : undefined;

export const cannotSay = (request: GenerationRequest): string[] => [
  ...partsBeyond(NAME, request, documentName),
  ...((request.stop ?? []).length > MAX_STOPS ? [`more than ${MAX_STOPS} stop sequences`] : []),
];
