import { describe, expect, test } from 'vitest';
import { countingOf, estimateInputTokens } from '../../../lambdas/catalog/estimate-tokens.ts';
import { FRAMING_MEMBERS, type Framing } from '../../../lambdas/catalog/families.ts';
import { sizeOfImage } from '../../../lambdas/catalog/image-size.ts';
import { tokensOfImage } from '../../../lambdas/catalog/image-tokens.ts';
import { partsOf } from '../../../lambdas/catalog/request-parts.ts';
import { startLab } from '../../support/fleet-lab.ts';
import { answer, startUpstream } from '../../support/fleet-upstream.ts';
import { modelOn, targetAt } from '../../support/models.ts';
import { send } from '../../support/send.ts';
import { requestOf } from '../../support/translate.ts';

const u16 = (value: number) => [value >> 8, value & 0xff];
const u16le = (value: number) => [value & 0xff, value >> 8];
const ascii = (text: string) => [...Buffer.from(text, 'latin1')];

const png = (width: number, height: number) => {
  const size = Buffer.alloc(8);
  size.writeUInt32BE(width >>> 0);
  size.writeUInt32BE(height >>> 0, 4);
  return [0x89, ...ascii('PNG\r\n\x1a\n'), 0, 0, 0, 13, ...ascii('IHDR'), ...size, 8, 6, 0, 0, 0];
};
const gif = (width: number, height: number) => [
  ...ascii('GIF89a'),
  ...u16le(width),
  ...u16le(height),
];
const webp = (kind: string, bytes: number[]) => [
  ...ascii('RIFF'),
  ...[0, 0, 0, 0],
  ...ascii(`WEBP${kind}`),
  ...bytes,
];
const lossless = (width: number, height: number) => {
  const bits = Buffer.alloc(4);
  bits.writeUInt32LE((width - 1) | ((height - 1) << 14));
  return webp('VP8L', [0, 0, 0, 0, 0x2f, ...bits]);
};
const lossy = (width: number, height: number) =>
  webp('VP8 ', [...Array.from({ length: 10 }, () => 0), ...u16le(width), ...u16le(height)]);
const extended = (width: number, height: number) =>
  webp('VP8X', [
    ...Array.from({ length: 8 }, () => 0),
    ...u16le(width - 1),
    0,
    ...u16le(height - 1),
    0,
  ]);
/** With a segment that holds a thumbnail of another size, and repeated fill bytes. */
const jpeg = (width: number, height: number, before = 4_000) => [
  ...[0xff, 0xd8, 0xff, 0xe1],
  ...u16(before + 2),
  ...[0xff, 0xd8, 0xff, 0xc0, 0, 17, 8, 0, 1, 0, 1],
  ...Array.from({ length: before - 11 }, () => 0x20),
  ...[0xff, 0xff, 0xff, 0xc2, 0, 17, 8],
  ...u16(height),
  ...u16(width),
];

/** A framing that counts nothing but media. */
const FREE = Object.fromEntries(FRAMING_MEMBERS.map((member) => [member, 0])) as Framing;

const FILES: [format: string, bytes: number[]][] = [
  ['PNG', png(1_920, 1_080)],
  ['GIF', gif(1_920, 1_080)],
  ['WebP without loss', lossless(1_920, 1_080)],
  ['WebP with loss', lossy(1_920, 1_080)],
  ['extended WebP', extended(1_920, 1_080)],
  ['JPEG', jpeg(1_920, 1_080)],
  ['JPEG of a camera', jpeg(1_920, 1_080, 60_000)],
];
const encode = (bytes: number[]): string => Buffer.from(bytes).toString('base64');

describe('the size of an image file', () => {
  test.each(FILES)('the header of a %s has the size of the image', (_, bytes) => {
    expect(sizeOfImage(encode(bytes))).toEqual({ width: 1_920, height: 1_080 });
  });

  test.each(FILES)('a %s that is cut short has no size, and is no failure', (_, bytes) => {
    for (let end = 0; end < Math.min(bytes.length, 40); end += 1) {
      const size = sizeOfImage(encode(bytes.slice(0, end)));
      expect([undefined, 1_920]).toContain(size?.width);
    }
    expect(sizeOfImage(encode(bytes.slice(0, -6)))?.width ?? 1_920).toBe(1_920);
  });

  test('an image with a side of 0, and a file of another kind, have no size', () => {
    for (const bytes of [png(0, 5), gif(5, 0), ascii('%PDF-1.7 and more text'), []]) {
      expect(sizeOfImage(encode(bytes))).toBeUndefined();
    }
  });
});

describe('tokens of an image', () => {
  test.each([
    ['claude-sonnet-4-5', 1, 1, 1],
    ['claude-sonnet-4-5', 200, 200, 64],
    ['claude-sonnet-4-5', 1_000, 1_000, 1_296],
    ['claude-sonnet-4-5', 1_920, 1_080, 1_560],
    ['claude-sonnet-4-5', 1_075, 1_520, 1_551],
    ['claude-opus-4-8', 1_920, 1_080, 2_691],
    ['gpt-6', 256, 256, 77],
    ['gpt-6', 1_024, 1_024, 1_229],
    ['gpt-6', 1_920, 1_080, 2_448],
    ['gpt-4o', 1, 1, 255],
    ['MiniMax-M3', 1, 1, 4],
    ['MiniMax-M3', 8_000, 8_000, 576],
    ['qwen3.5-plus', 1, 1, 64],
    ['gemini-2.5-pro', 300, 300, 258],
    ['gemini-2.5-pro', 1_000, 700, 516],
  ])('%s counts an image of %d × %d pixels as %d tokens', (model, width, height, tokens) => {
    expect(tokensOfImage(model, { size: { width, height }, isLow: false })).toBe(tokens);
  });

  test.each(['claude-opus-4-8', 'gpt-6', 'gpt-4o', 'MiniMax-M3', 'qwen3.5', 'gemini-2.5-pro'])(
    'an image of 1 × 2³¹ pixels has a finite count at %s',
    (model) => {
      const size = { width: 1, height: 2 ** 31 };
      const tokens = tokensOfImage(model, { size, isLow: false }) ?? 0;
      expect(Number.isFinite(tokens) && tokens > 0).toBe(true);
    },
  );

  const image = (bytes: number[]) => ({
    type: 'image',
    source: { type: 'base64', media_type: 'image/gif', data: encode(bytes) },
  });

  test('an image counts by the size in its file, one of unknown size as 1,600 tokens', () => {
    const count = (bytes: number[], model: string) => {
      const messages = [{ role: 'user', content: [image(bytes), { type: 'text', text: 'Hi.' }] }];
      return estimateInputTokens(
        partsOf(requestOf('messages', { messages })),
        countingOf({ model }),
      );
    };
    const without = count(png(1, 1), 'claude-sonnet-4-5') - 1;
    expect(count(png(200, 200), 'claude-sonnet-4-5')).toBe(without + 64);
    expect(count(ascii('unknown'), 'claude-sonnet-4-5')).toBe(without + 1_600);
  });

  test.each([
    ['gpt-4o', 85, 765],
    ['gpt-5', 70, 630],
    ['gpt-6', 1_229, 1_229],
  ])(
    '%s counts an image of 1,024² pixels as %d tokens with detail low, as %d with high',
    (model, low, high) => {
      const count = (detail: string) => {
        const url = `data:image/png;base64,${encode(png(1_024, 1_024))}`;
        const content = [{ type: 'image_url', image_url: { url, detail } }];
        const parts = partsOf(requestOf('chat', { messages: [{ role: 'user', content }] }));
        return estimateInputTokens(parts, countingOf({ model, counting: { framing: FREE } }));
      };
      expect([count('low'), count('high')]).toEqual([low, high]);
    },
  );

  test.each([
    ['gpt-4o', 85, 1_600],
    ['gpt-5', 70, 1_600],
    ['claude-sonnet-4-5', 1_600, 1_600],
  ])(
    'the usage of %s counts an image by URL as %d tokens with detail low, as %d with high',
    async (model, low, high) => {
      const { url } = await startUpstream(answer);
      const target = targetAt(url, { model, counting: { framing: FREE } });
      const { askFor } = await startLab([answer], {
        models: [modelOn([target], { vision: true })],
      });
      const count = async (detail: string) => {
        const image_url = { url: 'https://images.example/a.png', detail };
        const messages = [{ role: 'user', content: [{ type: 'image_url', image_url }] }];
        const { text } = await askFor({ messages, stream_options: { include_usage: true } });
        return Number(/"prompt_tokens":(\d+)/.exec(text)?.[1]);
      };
      expect([await count('low'), await count('high')]).toEqual([low, high]);
    },
  );

  test('the usage of responses counts an image with detail low as 85 tokens, on a chat target of gpt-4o', async () => {
    const { url } = await startUpstream(answer);
    const target = targetAt(url, { model: 'gpt-4o', counting: { framing: FREE } });
    const { fleet } = await startLab([answer], { models: [modelOn([target], { vision: true })] });
    const count = async (detail: string) => {
      const image_url = `data:image/png;base64,${encode(png(1_024, 1_024))}`;
      const content = [{ type: 'input_image', image_url, detail }];
      const { text } = await send(fleet.urls[0] ?? '', '/v1/responses', {
        method: 'POST',
        headers: { authorization: `Bearer ${fleet.key}` },
        body: JSON.stringify({ model: 'vendor/model', input: [{ role: 'user', content }] }),
      });
      return JSON.parse(text).usage.input_tokens;
    };
    expect([await count('low'), await count('high')]).toEqual([85, 765]);
  });

  test('700 images of one pixel are not too long for a context of 1,048,576 tokens', async () => {
    const { askFor, primary } = await startLab([answer], {
      model: { context_length: 1_048_576, vision: true },
    });
    const url = `data:image/png;base64,${encode(png(1, 1))}`;
    const content = Array.from({ length: 700 }, () => ({ type: 'image_url', image_url: { url } }));
    expect((await askFor({ messages: [{ role: 'user', content }] })).status).toBe(200);
    expect(primary.attempts).toBe(1);
  });
});
