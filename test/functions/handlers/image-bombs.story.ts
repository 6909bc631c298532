import { describe, expect, it } from 'vitest';
import { DeadLetter } from '../../../core/handler/chosen-outcome.ts';
import makeThumbnailHandler from '../../../functions/handlers/make-thumbnail.ts';
import { DecoderEnded, decodeApart } from '../../../functions/image-process.ts';
import { makeThumbnail } from '../../../functions/thumbnail.ts';
import {
  framesGif,
  framesWebp,
  large,
  manyScans,
  pngWithProfile,
  smallCanvas,
  smallProperty,
  smallScreen,
  twoFrames,
  zeroPng,
} from './image-bombs.ts';

const MOST_BYTES = 50_000_000;
const never = new AbortController().signal;
const avif = (bitdepth: 8 | 12) => large(4).avif({ effort: 0, chromaSubsampling: '4:4:4', bitdepth }).toBuffer();

describe('makeThumbnail with the largest images', () => {
  it.each([
    ['a progressive JPEG', () => large().jpeg({ progressive: true }).toBuffer()],
    ['a progressive JPEG in CMYK', () => large().toColourspace('cmyk').jpeg({ progressive: true }).toBuffer()],
    ['a WebP with alpha', () => large(4).webp({ effort: 0 }).toBuffer()],
    ['a lossless WebP with alpha', () => large(4).webp({ lossless: true, effort: 0 }).toBuffer()],
    ['a GIF', () => large().gif({ effort: 1 }).toBuffer()],
    ['an AVIF with alpha', () => avif(8)],
    ['a GIF whose frame exceeds its screen', async () => smallScreen(await large().gif({ effort: 1 }).toBuffer())],
    ['a PNG with a colour profile of 1.5 GB', pngWithProfile],
    ['a GIF with as many frames as fit', async () => framesGif(3_300_000)],
  ])('decodes %s', async (_case, source) => {
    const bytes = await source();

    const { jpeg } = await makeThumbnail(bytes, 320, never);

    expect(bytes.length).toBeLessThan(MOST_BYTES);
    expect(jpeg.length).toBeGreaterThan(300);
  });
});

describe('makeThumbnail with an image that expands in the decoder', () => {
  it.each([
    [
      'an interlaced PNG of one pixel with 1.5 GB of data',
      async () => zeroPng({ width: 1, height: 1, interlaced: true }),
    ],
    ['a PNG of one pixel with 1.5 GB of data', async () => zeroPng({ width: 1, height: 1 })],
    ['a PNG of 16 bits without an end', async () => zeroPng({ depth: 16, colour: 6, millions: 300 })],
    ['an interlaced PNG of 16 bits', async () => zeroPng({ depth: 16, colour: 6, interlaced: true, millions: 450 })],
    ['a JPEG with a second, larger frame', async () => twoFrames(await large().resize(64).jpeg().toBuffer())],
    ['an AVIF that declares a smaller size', async () => smallProperty(await avif(8))],
    ['a WebP that declares a smaller canvas', async () => smallCanvas(await large(4).webp({ effort: 0 }).toBuffer())],
    ['an AVIF that requires more memory than the function has', () => avif(12)],
  ])('throws DeadLetter for %s', async (_case, source) => {
    const bytes = await source();

    await expect(makeThumbnail(bytes, 320, never)).rejects.toBeInstanceOf(DeadLetter);
  });

  it.each([
    ['a JPEG with 900 scans', async () => manyScans(await large().jpeg({ progressive: true }).toBuffer())],
    ['a WebP with as many frames as fit', async () => framesWebp(1_000_000)],
  ])('ends the decoder at its limit on processor time for %s', async (_case, source) => {
    const order = { source: await source(), width: 320, mostPixels: 50_000_000, quality: 80 };

    const attempt = decodeApart(order, never, { processorSeconds: 3, memoryMb: 1_600 });

    await expect(attempt).rejects.toThrow(new DecoderEnded('decoding takes more than 3 s of processor time'));
  });
});

it('the decoder may use less memory than its function, which also keeps the source in memory', async () => {
  const order = { source: await avif(8), width: 320, mostPixels: 50_000_000, quality: 80 };

  const answer = await decodeApart(order, never, { processorSeconds: 40, memoryMb: makeThumbnailHandler.memoryMb / 2 });

  expect(answer).toHaveProperty('reason', expect.stringMatching(/memory|alloc/i));
});
