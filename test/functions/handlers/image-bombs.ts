import { constants, deflateRawSync } from 'node:zlib';
import sharp from 'sharp';
import { chunksOf, toPng } from './odd-images.ts';

/** The size of an image with almost as many pixels as the handler accepts. */
const WIDTH = 7_000;
const HEIGHT = 7_100;

const ZEROS = deflateRawSync(Buffer.alloc(1_000_000), { finishFlush: constants.Z_FULL_FLUSH });

/** Returns a zlib stream with this many million zeros, without its end. */
function zeros(millions: number): Buffer {
  return Buffer.concat([Buffer.from([0x78, 0x9c]), ...Array(millions).fill(ZEROS)]);
}

/** Returns a PNG whose compressed data contain this many million zeros, whatever its header declares. */
export function zeroPng({
  width = WIDTH,
  height = HEIGHT,
  depth = 8,
  colour = 2,
  interlaced = false,
  millions = 1_500,
}) {
  const ihdr = Buffer.from([...Array(8).fill(0), depth, colour, 0, 0, Number(interlaced)]);
  ihdr.writeUInt32BE(width, 0);
  ihdr.writeUInt32BE(height, 4);
  return toPng([
    { type: 'IHDR', body: ihdr },
    { type: 'IDAT', body: zeros(millions) },
    { type: 'IEND', body: Buffer.alloc(0) },
  ]);
}

/** Inserts a chunk with 1.5 GB of zeros before the data of a PNG. */
export async function pngWithProfile(): Promise<Buffer> {
  const [ihdr, ...rest] = chunksOf(await large().resize(64).png().toBuffer());
  const body = Buffer.concat([Buffer.from('x\0\0', 'latin1'), zeros(1_500)]);
  return toPng([ihdr!, { type: 'iCCP', body }, ...rest]);
}

/** An image in one colour, of almost the largest size. */
export function large(channels: 3 | 4 = 3) {
  return sharp({ create: { width: WIDTH, height: HEIGHT, channels, background: { r: 9, g: 99, b: 199, alpha: 0.5 } } });
}

/** Replaces the size in the header of a GIF with a smaller one than that of its frames. */
export function smallScreen(gif: Buffer): Buffer {
  const changed = Buffer.from(gif);
  changed.writeUInt16LE(1, 6);
  changed.writeUInt16LE(1, 8);
  return changed;
}

/** Replaces the size in the container of an AVIF with a smaller one than that of its picture. */
export function smallProperty(avif: Buffer): Buffer {
  const changed = Buffer.from(avif);
  for (let at = changed.indexOf('ispe'); at >= 0; at = changed.indexOf('ispe', at + 4)) {
    changed.writeUInt32BE(16, at + 8);
    changed.writeUInt32BE(16, at + 12);
  }
  return changed;
}

/** Returns an animated GIF with this many frames of one pixel. */
export function framesGif(frames: number): Buffer {
  const start = Buffer.from('47494638396101000100800000000000ffffff', 'hex');
  const frame = Buffer.from('2c0000000001000100000202440100', 'hex');
  return Buffer.concat([start, ...Array(frames).fill(frame), Buffer.from(';')]);
}

/** Returns an animated WebP with this many frames of one pixel. */
export function framesWebp(frames: number): Buffer {
  const start = `524946468400000057454250${'565038580a00000002000000000000000000'}${'414e494d06000000ffffffff0100'}`;
  const frame = '414e4d4628000000000000000000000000000000640000025650384c0f0000002f000000000710fd8ffe0722a2ff0100';
  const whole = Buffer.concat([Buffer.from(start, 'hex'), ...Array(frames).fill(Buffer.from(frame, 'hex'))]);
  whole.writeUInt32LE(whole.length - 8, 4);
  return whole;
}

/** Replaces the size of the canvas of a WebP with a smaller one than that of its frames. */
export function smallCanvas(webp: Buffer): Buffer {
  const changed = Buffer.from(webp);
  const at = changed.indexOf('VP8X');
  if (at >= 0) changed.writeUIntLE(0, at + 12, 6);
  return changed;
}

/** Adds a second frame header with 65,000 × 65,000 pixels to a JPEG, after the genuine one. */
export function twoFrames(jpeg: Buffer): Buffer {
  const at = jpeg.findIndex((byte, index) => byte === 255 && [0xc0, 0xc2].includes(jpeg[index + 1] ?? 0));
  const end = at + 2 + jpeg.readUInt16BE(at + 2);
  const second = Buffer.from(jpeg.subarray(at, end));
  second.writeUInt16BE(65_000, 5);
  second.writeUInt16BE(65_000, 7);
  return Buffer.concat([jpeg.subarray(0, end), second, jpeg.subarray(end)]);
}

/** Adds almost 900 valid scans to the first component of a progressive JPEG; each passes over the whole image. */
export function manyScans(jpeg: Buffer): Buffer {
  const segments = segmentsOf(jpeg);
  // The first scan of a single component; later scans refine it.
  const scan = segments.findIndex(({ marker, at }) => marker === 0xda && jpeg[at + 4] === 1);
  const first = segments.find(({ marker }) => marker === 0xda)!;
  const [table, { at, end }] = [segments[scan - 1]!, segments[scan]!];
  const parts = [jpeg.subarray(0, first.end), jpeg.subarray(table.at, table.end)];
  for (let coefficient = 1; coefficient < 64; coefficient++) {
    for (let bit = 13; bit >= 0; bit--) {
      const copy = Buffer.from(jpeg.subarray(at, end));
      copy.set([coefficient, coefficient, bit === 13 ? bit : ((bit + 1) << 4) | bit], 7);
      parts.push(copy);
    }
  }
  return Buffer.concat([...parts, Buffer.from([255, 0xd9])]);
}

/** Splits a JPEG at its markers; a scan includes its data. */
function segmentsOf(jpeg: Buffer): { marker: number; at: number; end: number }[] {
  const starts: { marker: number; at: number }[] = [];
  for (let at = 2; at < jpeg.length; ) {
    const marker = jpeg[at + 1] ?? 0;
    const isMarker = jpeg[at] === 255 && ![0, 255].includes(marker) && (marker < 0xd0 || marker > 0xd7);
    if (isMarker) starts.push({ marker, at });
    at += isMarker && marker !== 0xd9 ? 2 + jpeg.readUInt16BE(at + 2) : 1;
  }
  return starts.map((start, index) => ({ ...start, end: starts[index + 1]?.at ?? jpeg.length }));
}
