import { CLAUDE_4_7 } from './families.ts';
import type { Size } from './image-size.ts';

/** An image; without a size where the router cannot read one. `isLow`: the caller asked for `detail: "low"`. */
export type Image = { size: Size | undefined; isLow: boolean };

/** Tokens of an image of a size, as a vendor documents them. */
type ImageRule = (size: Size) => number;

const patches = ({ width, height }: Size, side: number): number =>
  Math.ceil(width / side) * Math.ceil(height / side);

/** The size with this long side, of the same ratio. */
const withLongSide = ({ width, height }: Size, long: number): Size => {
  const short = Math.max(1, Math.round((long * Math.min(width, height)) / Math.max(width, height)));
  return width >= height ? { width: long, height: short } : { width: short, height: long };
};

/** Shrinks an image to the largest size that fits both limits, then cuts it in patches of 28 pixels. */
const claude =
  (maxSide: number, maxTokens: number): ImageRule =>
  (size) => {
    const fits = (each: Size) =>
      Math.ceil(Math.max(each.width, each.height) / 28) * 28 <= maxSide &&
      patches(each, 28) <= maxTokens;
    if (fits(size)) return patches(size, 28);
    let low = 1;
    let high = Math.max(size.width, size.height);
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (fits(withLongSide(size, middle))) low = middle;
      else high = middle;
    }
    return patches(withLongSide(size, low), 28);
  };

const scaled = ({ width, height }: Size, by: number): Size => ({
  width: width * by,
  height: height * by,
});

/**
 * Shrinks an image into 2,048 pixels, then to a short side of 768, and cuts it in tiles of 512
 * (https://platform.openai.com/docs/guides/images-vision#calculating-costs).
 */
const openAiTiles =
  (base: number, perTile: number): ImageRule =>
  (size) => {
    const inside = scaled(size, Math.min(1, 2_048 / Math.max(size.width, size.height)));
    const short = Math.min(inside.width, inside.height);
    return base + perTile * patches(scaled(inside, Math.min(1, 768 / short)), 512);
  };

const openAiPatches =
  (perPatch: number, most = Number.POSITIVE_INFINITY): ImageRule =>
  (size) =>
    Math.ceil(perPatch * Math.min(most, patches(size, 32)));

/** Scales an image so that its area is within the limits, in patches of `side` pixels. */
const byArea =
  (side: number, least: number, most: number): ImageRule =>
  (size) => {
    const area = size.width * size.height;
    const by = Math.sqrt(Math.min(Math.max(area, least), most) / area);
    const along = (pixels: number) => Math.max(1, Math.round((pixels * by) / side));
    return Math.min(along(size.width) * along(size.height), Math.ceil(most / side ** 2));
  };

/** By the provider's name of the model, the first that matches; `low`: tokens of any image with `detail: "low"`. */
const RULES: [name: RegExp, rule: ImageRule, low?: number][] = [
  [CLAUDE_4_7, claude(2_576, 4_784)],
  [/claude/i, claude(1_568, 1_568)],
  [/gpt-4\.1-mini/i, openAiPatches(1.62, 1_536)],
  [/gpt-4\.1-nano/i, openAiPatches(2.46, 1_536)],
  [/gpt-4|(?:^|\/)o\d/i, openAiTiles(85, 170), 85],
  [/gpt-5(?:$|[^.]|\.[0-5])/i, openAiTiles(70, 140), 70],
  [/gpt-/i, openAiPatches(1.2)],
  [/minimax/i, byArea(28, 28 ** 2 * 4, 451_584)],
  [/qwen-?2/i, byArea(28, 28 ** 2 * 4, 28 ** 2 * 16_384)],
  [/qwen/i, byArea(32, 65_536, 16_777_216)],
  [/gemini-3/i, () => 1_100],
  [/gemini/i, (size) => 258 * (Math.max(size.width, size.height) <= 384 ? 1 : patches(size, 768))],
];

/** How a model's vendor counts an image; undefined if that is not published, or depends on an unknown size. */
export const tokensOfImage = (model: string, { size, isLow }: Image): number | undefined => {
  const [, rule, low] = RULES.find(([name]) => name.test(model)) ?? [];
  if (isLow && low !== undefined) return low;
  return size && rule?.(size);
};
