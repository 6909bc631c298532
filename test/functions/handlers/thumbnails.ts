import sharp, { type Sharp } from 'sharp';
import { expect } from 'vitest';
import makeThumbnail from '../../../functions/handlers/make-thumbnail.ts';
import type { FileServer } from './file-server.ts';
import { runHandler } from './run-handler.ts';

/** Runs one attempt of `make_thumbnail`, by default from `/in` to `/out` of this server. */
export function run(web: FileServer, payload: object = {}, signal = new AbortController().signal) {
  const defaults = { source: `${web.origin}/in`, target: `${web.origin}/out`, width: 32 };
  return runHandler(makeThumbnail, { payload: { ...defaults, ...payload }, signal });
}

/** Returns an image whose left half is red and whose right half is blue. */
export function halves(width: number, height: number): Sharp {
  const row = Buffer.alloc(width * 3);
  for (let x = 0; x < width; x++) row.set(x < width / 2 ? RED : BLUE, x * 3);
  return sharp(Buffer.concat(Array(height).fill(row)), { raw: { width, height, channels: 3 } });
}

export const RED = [255, 0, 0];
export const BLUE = [0, 0, 255];

/** An encoder for every format that the handler accepts. */
export const FORMATS: [string, (image: Sharp) => Sharp][] = [
  ['JPEG', (image) => image.jpeg({ quality: 90 })],
  ['progressive JPEG', (image) => image.jpeg({ quality: 90, progressive: true })],
  ['PNG', (image) => image.png()],
  ['interlaced PNG', (image) => image.png({ progressive: true })],
  ['PNG with a palette', (image) => image.png({ palette: true })],
  ['lossy WebP', (image) => image.webp({ quality: 90 })],
  ['lossless WebP', (image) => image.webp({ lossless: true })],
  ['GIF', (image) => image.gif()],
  ['AVIF', (image) => image.avif({ quality: 80, effort: 0 })],
];

/** Returns an image in one colour. */
export function plain(width: number, height: number, background: string): Sharp {
  return sharp({ create: { width, height, channels: 3, background } });
}

/** Reads a JPEG: its size, and the colour of the pixel at a position from 0 to 1 of its width and height. */
export async function look(jpeg: Uint8Array) {
  expect((await sharp(jpeg).metadata()).format).toBe('jpeg');
  const { data, info } = await sharp(jpeg).raw().toBuffer({ resolveWithObject: true });
  const { width, height, channels } = info;
  const colourAt = (x: number, y: number): number[] => {
    const at = (Math.floor(y * height) * width + Math.floor(x * width)) * channels;
    return [...data.subarray(at, at + 3)];
  };
  return { width, height, channels, colourAt };
}

/** Matches this colour, or one that a codec has changed slightly. */
export function near(colour: readonly number[]) {
  return colour.map((channel) => expect.toSatisfy((value: number) => Math.abs(value - channel) <= 12));
}
