import type { DocumentBlock, GenerationRequest } from '../generation.ts';
import { isPdf } from '../media.ts';
import { partsBeyond } from '../native-parts.ts';
import { NAME } from './name.ts';

/** The vendor reads PDFs and plain text only. */
const documentName = ({ source }: DocumentBlock): string | undefined => {
  if (source.kind !== 'base64') return undefined;
  const isReadable = isPdf(source) || source.mediaType.startsWith('text/');
  return isReadable ? undefined : source.mediaType;
};

/** The vendor rejects white space; without the stop sequence the model would run on. */
const isBlank = (stop: string): boolean => stop.trim() === '';

export const cannotSay = (request: GenerationRequest): string[] => [
  ...partsBeyond(NAME, request, documentName),
  ...(request.stop?.some(isBlank) ? ['stop sequence of white space'] : []),
];
