import { imageSize } from 'image-size';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DeadLetter } from '../../../core/handler/chosen-outcome.ts';
import { decode, encodeJpeg } from '../../../functions/codecs.ts';
import { type FileServer, startFileServer } from './file-server.ts';
import { halves, png, run, turned } from './thumbnails.ts';

let web: FileServer;

beforeEach(async () => {
  web = await startFileServer();
  vi.stubEnv('THUMBNAIL_PRIVATE_HOSTS', '127.0.0.1');
});
afterEach(() => {
  vi.unstubAllEnvs();
});

function pixel({ data, width }: { data: ArrayLike<number>; width: number }, x: number, y: number): number[] {
  const at = (y * width + x) * 4;
  return [data[at]!, data[at + 1]!, data[at + 2]!];
}

function near(colour: number[]) {
  return colour.map((channel) => expect.closeTo(channel, -1));
}

describe('make_thumbnail', () => {
  it.each([
    ['JPEG', () => encodeJpeg(halves(640, 480), 90)],
    ['PNG', async () => png(halves(640, 480))],
  ])('puts a JPEG of the requested width from a %s', async (_format, source) => {
    web.files.set('/in', await source());

    const result = await run(web);

    const out = web.files.get('/out')!;
    expect(imageSize(out)).toMatchObject({ type: 'jpg', width: 32, height: 24 });
    expect(result).toEqual({ width: 32, height: 24, bytes: out.byteLength });
    const pixels = await decode('jpg', out);
    expect(pixel(pixels, 4, 12)).toEqual(near([254, 0, 0]));
    expect(pixel(pixels, 27, 12)).toEqual(near([0, 0, 254]));
    expect(web.requests.at(-1)).toMatchObject({ line: 'PUT /out', headers: { 'content-type': 'image/jpeg' } });
  });

  it.each([
    ['lossy', 'UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA'],
    ['lossless', 'UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=='],
  ])('accepts a %s WebP', async (_kind, source) => {
    web.files.set('/in', Buffer.from(source, 'base64'));

    const result = await run(web);

    expect(result).toMatchObject({ width: 1, height: 1 });
    expect(imageSize(web.files.get('/out')!)).toMatchObject({ type: 'jpg' });
  });

  it('rotates a photo by its EXIF orientation', async () => {
    web.files.set('/in', turned(await encodeJpeg(halves(640, 480), 90)));

    await run(web);

    const pixels = await decode('jpg', web.files.get('/out')!);
    expect([pixels.width, pixels.height]).toEqual([32, 43]);
    expect(pixel(pixels, 16, 5)).toEqual(near([254, 0, 0]));
    expect(pixel(pixels, 16, 38)).toEqual(near([0, 0, 254]));
  });

  it('keeps the width of an image that is narrower than requested', async () => {
    web.files.set('/in', png(halves(20, 10)));

    expect(await run(web, { width: 4096 })).toMatchObject({ width: 20, height: 10 });
  });

  it('keeps at least one row of a very flat image', async () => {
    web.files.set('/in', png(halves(1000, 2)));

    expect(await run(web, { width: 10 })).toMatchObject({ width: 10, height: 1 });
  });

  it('gives the same bytes every time', async () => {
    web.files.set('/in', await encodeJpeg(halves(640, 480), 90));

    await run(web);
    const first = web.files.get('/out');
    await run(web);

    expect(web.files.get('/out')).toEqual(first);
    expect(web.files.get('/out')).not.toBe(first);
  });
});

describe('make_thumbnail with a source that is not an image', () => {
  const gif = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
  const bomb = png(halves(2, 2));
  Buffer.from(bomb.buffer, bomb.byteOffset).writeUInt32BE(60_000, 16);
  Buffer.from(bomb.buffer, bomb.byteOffset).writeUInt32BE(60_000, 20);

  it.each([
    ['an empty file', () => new Uint8Array(), 'not an image'],
    ['a web page', () => Buffer.from('<!doctype html><title>Sorry</title>'), 'not an image'],
    ['a GIF', () => gif, 'of type gif, expected a JPEG, PNG or WebP image'],
    ['a PNG that declares gigapixels', () => bomb, '60000 × 60000 pixels'],
    ['half a PNG', () => png(halves(64, 64)).subarray(0, 120), 'cannot be decoded as png'],
    ['half a JPEG', async () => (await encodeJpeg(halves(64, 64), 90)).subarray(0, 300), 'cannot be decoded as jpg'],
  ])('throws DeadLetter for %s', async (_kind, source, reason) => {
    web.files.set('/in', await source());

    const error = await run(web).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(DeadLetter);
    expect(error).toHaveProperty('message', expect.stringContaining(reason));
    expect(web.files.has('/out')).toBe(false);
  });

  it('decodes the next image after a broken one', async () => {
    const good = await encodeJpeg(halves(64, 64), 90);
    web.files.set('/in', good.subarray(0, 300));
    await run(web).catch(() => undefined);
    web.files.set('/in', good);

    expect(await run(web)).toMatchObject({ width: 32, height: 32 });
  });
});
