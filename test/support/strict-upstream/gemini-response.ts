import { cutUnits, type Meant, toJson, type WireForm } from './wire-response.ts';

/** Responses of Google's API: pieces of one form, with calls that are whole. */
type Json = Record<string, unknown>;

const usageOf = ({ usage: { input, cached, output } }: Meant) => ({
  promptTokenCount: input,
  ...(cached > 0 && { cachedContentTokenCount: cached }),
  candidatesTokenCount: output,
  totalTokenCount: input + output,
  promptTokensDetails: [{ modality: 'TEXT', tokenCount: input }],
});

const FINISHES = { stop: 'STOP', length: 'MAX_TOKENS', 'tool-calls': 'STOP' };

/** The first call is signed; so is thinking without one, in the last part. */
const partsOf = ({ thinking, text, calls }: Meant, units: number[]): Json[] => {
  const signature = { thoughtSignature: thinking?.signature ?? 'c2lnbmVk' };
  return [
    ...cutUnits(thinking?.text ?? '', units).map((one) => ({ text: one, thought: true })),
    ...cutUnits(text, units).map((one) => ({ text: one })),
    ...calls.map(({ id, name }, at) => ({
      functionCall: { id, name, args: `@args ${at}` },
      ...(at === 0 && signature),
    })),
    ...(thinking && calls.length === 0 ? [{ text: '', ...signature }] : []),
  ];
};

const responseOf = (parts: Json[], meant: Meant, isLast: boolean): Json => ({
  candidates: [
    {
      content: { parts, role: 'model' },
      ...(isLast && { finishReason: FINISHES[meant.finish] }),
      index: 0,
    },
  ],
  usageMetadata: usageOf(meant),
  modelVersion: 'm',
  responseId: 'mZ0kaePWJpmXjMcPlaHV8As',
});

const write = (value: Json, meant: Meant, form: WireForm): string =>
  toJson(
    value,
    form,
    // An event has one line.
    meant.calls.map((call) => call.arguments.replaceAll('\n', ' ')),
  );

export const wholeGemini = (meant: Meant, form: WireForm): string =>
  write(responseOf(partsOf(meant, []), meant, true), meant, form);

export const streamedGemini = (meant: Meant, form: WireForm): string => {
  const parts = partsOf(meant, form.units);
  const chunks = parts.length === 0 ? [[]] : parts.map((part) => [part]);
  return chunks
    .map((chunk, at) => responseOf(chunk, meant, at === chunks.length - 1))
    .map((chunk) => `data: ${write(chunk, meant, form)}\r\n\r\n`)
    .join('');
};
