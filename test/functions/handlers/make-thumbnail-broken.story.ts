import sharp, { type Sharp } from 'sharp';
import { beforeEach, describe, expect, it } from 'vitest';
import { DeadLetter } from '../../../core/handler/chosen-outcome.ts';
import { decodeApart } from '../../../functions/image-process.ts';
import { type FileServer, startFileServer } from './file-server.ts';
import { framesWebp, zeroPng } from './image-bombs.ts';
import { twoHeaders } from './odd-images.ts';
import { FORMATS, plain, run } from './thumbnails.ts';

let web: FileServer;

beforeEach(async () => {
  web = await startFileServer();
});

describe('make_thumbnail with a source that is not an image', () => {
  it.each([
    ['an empty file', Buffer.alloc(0)],
    ['a web page', Buffer.from('<!doctype html><title>Sorry</title>')],
    ['an SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')],
    ['a PDF', Buffer.from('%PDF-1.7\n')],
    ['a TIFF', Buffer.from('II*\0\b\0\0\0\0\0', 'latin1')],
    ['a BMP', Buffer.from('BM\x3a\0\0\0', 'latin1')],
    ['a HEIC', Buffer.from('\0\0\0\x18ftypheic\0\0\0\0mif1heic\0\0\0\x08metaavif', 'latin1')],
    ['a JPEG XL', Buffer.from('\xff\x0a\xfa\x1f\x41\x91', 'latin1')],
    ['a sound', Buffer.from('RIFF\x24\0\0\0WAVEfmt ', 'latin1')],
    ['the first bytes of a PNG', Buffer.from('\x89PNG', 'latin1')],
  ])('throws DeadLetter for %s', async (_kind, source) => {
    web.files.set('/in', source);

    const error = await run(web).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(DeadLetter);
    expect(error).toHaveProperty('message', 'the source is not a JPEG, PNG, WebP, GIF or AVIF image');
  });
});

describe('make_thumbnail with a broken or hostile image', () => {
  it.each([
    ['a PNG with two headers', async () => twoHeaders(), 'cannot be decoded as PNG'],
    [
      'a PNG that declares gigapixels',
      async () => zeroPng({ width: 60_000, height: 60_000, millions: 1 }),
      '60000 × 60000 pixels, expected at most 50000000 in total',
    ],
    ['a JPEG header alone', async () => Buffer.from([255, 0xd8, 255]), 'cannot be decoded as JPEG'],
    ['a WebP header alone', async () => Buffer.from('RIFF\0\0\0\0WEBPVP8 ', 'latin1'), 'cannot be decoded as WebP'],
    ['a GIF header alone', async () => Buffer.from('GIF89a', 'latin1'), 'cannot be decoded as GIF'],
    ['an AVIF header alone', async () => Buffer.from('\0\0\0\x10ftypavif\0\0\0\0'), 'cannot be decoded as AVIF'],
    ['an image that is too tall for a JPEG', () => plain(2, 70_000, 'red').png().toBuffer(), 'too large for the JPEG'],
  ] as [string, () => Promise<Buffer>, string][])('throws DeadLetter for %s', async (_kind, source, reason) => {
    web.files.set('/in', await source());

    const error = await run(web).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(DeadLetter);
    expect(error).toHaveProperty('message', expect.stringContaining(reason));
    expect(web.files.has('/out')).toBe(false);
  });

  it.each(FORMATS)('throws DeadLetter for half a %s', async (_format, encode) => {
    const whole = await encode(noise(200, 200)).toBuffer();
    web.files.set('/in', whole.subarray(0, whole.length / 2));

    await expect(run(web)).rejects.toBeInstanceOf(DeadLetter);
  });

  it('stops the decoder when its signal aborts', async () => {
    const stop = new AbortController();
    const order = { source: framesWebp(1_000_000), width: 100, mostPixels: 1e8, quality: 80 };

    const attempt = decodeApart(order, stop.signal);
    stop.abort();

    await expect(attempt).rejects.toMatchObject({ name: 'AbortError' });
  });
});

/** An image that no format compresses well, so that half of the file contains half of the pixels. */
function noise(width: number, height: number): Sharp {
  return sharp({
    create: { width, height, channels: 3, background: 'grey', noise: { type: 'gaussian', mean: 128, sigma: 60 } },
  });
}
