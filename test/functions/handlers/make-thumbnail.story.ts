import sharp from 'sharp';
import { beforeEach, describe, expect, it } from 'vitest';
import { type FileServer, startFileServer } from './file-server.ts';
import { afterStart, animate, rotated, withMoreData } from './odd-images.ts';
import { BLUE, FORMATS, halves, look, near, plain, RED, run } from './thumbnails.ts';

let web: FileServer;

beforeEach(async () => {
  web = await startFileServer();
});

/** Makes a thumbnail of this image, and reads the thumbnail. */
async function thumbnailOf(source: Uint8Array, width = 32) {
  web.files.set('/in', source);
  await run(web, { width });
  return look(web.files.get('/out')!);
}

describe('make_thumbnail', () => {
  it.each(FORMATS)('puts a JPEG of the requested width from a %s', async (_format, encode) => {
    web.files.set('/in', await encode(halves(640, 480)).toBuffer());

    const result = await run(web);

    const out = web.files.get('/out')!;
    const { width, height, colourAt } = await look(out);
    expect(result).toEqual({ width: 32, height: 24, bytes: out.byteLength });
    expect([width, height]).toEqual([32, 24]);
    expect(colourAt(0.1, 0.5)).toEqual(near(RED));
    expect(colourAt(0.9, 0.5)).toEqual(near(BLUE));
    expect(web.requests.at(-1)).toMatchObject({ line: 'PUT /out', headers: { 'content-type': 'image/jpeg' } });
  });

  it('keeps the width of an image that is narrower than requested', async () => {
    expect(await thumbnailOf(await halves(20, 10).png().toBuffer(), 4096)).toMatchObject({ width: 20, height: 10 });
  });

  it('keeps at least one row of a very flat image', async () => {
    expect(await thumbnailOf(await halves(1000, 2).png().toBuffer(), 10)).toMatchObject({ width: 10, height: 1 });
  });

  it('returns the same bytes every time', async () => {
    web.files.set('/in', await halves(640, 480).jpeg().toBuffer());

    await run(web);
    const first = web.files.get('/out');
    await run(web);

    expect(web.files.get('/out')).toEqual(first);
    expect(web.files.get('/out')).not.toBe(first);
  });

  it('draws transparent pixels as white, even if they have a colour', async () => {
    const clear = sharp({ create: { width: 64, height: 64, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 0 } } });

    const { colourAt } = await thumbnailOf(await clear.png().toBuffer());

    expect(colourAt(0.5, 0.5)).toEqual(near([255, 255, 255]));
  });

  it('omits the metadata of the source, such as the place where a photo was taken', async () => {
    const exif = { IFD3: { GPSLatitude: '51/1 30/1 0/1' }, IFD0: { Copyright: 'Ada' } };
    web.files.set('/in', await halves(64, 64).withExif(exif).jpeg().toBuffer());

    await run(web);

    const { exif: left, icc } = await sharp(web.files.get('/out')).metadata();
    expect([left, icc]).toEqual([undefined, undefined]);
  });
});

describe('make_thumbnail with an image that is stored rotated', () => {
  /** The side on which the red half appears, for each EXIF orientation. */
  const RED_SIDE = ['left', 'right', 'right', 'left', 'top', 'top', 'bottom', 'bottom'];
  const containers = FORMATS.filter(([name]) => ['JPEG', 'PNG', 'lossy WebP', 'lossless WebP'].includes(name));
  const cases = containers.flatMap(([name, encode]) =>
    RED_SIDE.map((side, index) => ({ name, encode, orientation: index + 1, side })).filter(
      ({ orientation }) => name === 'JPEG' || [2, 6].includes(orientation),
    ),
  );
  const sideOf = ({ width, height, colourAt }: Awaited<ReturnType<typeof look>>) => {
    const isRed = (x: number, y: number) => (colourAt(x, y)[0] ?? 0) > 128;
    if (width > height) return isRed(0.1, 0.5) ? 'left' : 'right';
    return isRed(0.5, 0.1) ? 'top' : 'bottom';
  };

  it.each(cases)(
    'shows a $name with the EXIF orientation $orientation upright',
    async ({ encode, orientation, side }) => {
      const source = await encode(halves(640, 480).withMetadata({ orientation })).toBuffer();

      const thumbnail = await thumbnailOf(source);

      expect(thumbnail).toMatchObject({ width: 32, height: orientation < 5 ? 24 : 43 });
      expect(sideOf(thumbnail)).toBe(side);
    },
  );

  it('shows an AVIF with a rotation property upright', async () => {
    const thumbnail = await thumbnailOf(rotated(await halves(640, 480).avif({ effort: 0 }).toBuffer()));

    expect(thumbnail).toMatchObject({ width: 32, height: 43 });
    expect(sideOf(thumbnail)).toBe('top');
  });
});

describe('make_thumbnail with colours that are not 8-bit sRGB', () => {
  const COLOUR = [150, 110, 90];
  const colour = () => plain(64, 64, 'rgb(150, 110, 90)');

  it.each([
    ['a CMYK JPEG', () => colour().toColourspace('cmyk').jpeg({ quality: 95 })],
    ['a JPEG in Display P3', () => colour().withIccProfile('p3').jpeg({ quality: 95 })],
    ['a PNG in Display P3', () => colour().withIccProfile('p3').png()],
    ['a WebP in Display P3', () => colour().withIccProfile('p3').webp({ lossless: true })],
    ['an AVIF in Display P3', () => colour().withIccProfile('p3').avif({ quality: 95, effort: 0 })],
    ['an AVIF with 10 bits', () => colour().avif({ quality: 95, effort: 0, bitdepth: 10 })],
    ['a PNG with 16 bits', () => colour().toColourspace('rgb16').png()],
  ])('converts %s', async (_kind, source) => {
    const { colourAt, channels } = await thumbnailOf(await source().toBuffer());

    expect(channels).toBe(3);
    expect(colourAt(0.5, 0.5)).toEqual(near(COLOUR));
  });

  it.each([
    ['JPEG', () => plain(64, 64, 'rgb(90, 90, 90)').toColourspace('b-w').jpeg()],
    ['PNG', () => plain(64, 64, 'rgb(90, 90, 90)').toColourspace('b-w').png()],
    ['PNG with 16 bits', () => plain(64, 64, 'rgb(90, 90, 90)').toColourspace('grey16').png()],
  ])('accepts a grey %s', async (_kind, source) => {
    const { colourAt } = await thumbnailOf(await source().toBuffer());

    expect(colourAt(0.5, 0.5).slice(0, 1)).toEqual(near([90]));
  });
});

describe('make_thumbnail with an animation', () => {
  const frames = () => Promise.all([halves(320, 240).png().toBuffer(), plain(320, 240, 'lime').png().toBuffer()]);
  const join = async () => sharp(await frames(), { join: { animated: true } });

  it.each([
    ['GIF', async () => (await join()).gif().toBuffer()],
    ['WebP', async () => (await join()).webp({ lossless: true }).toBuffer()],
    ['PNG', async () => animate(...((await frames()) as [Buffer, Buffer]))],
  ])('uses the first frame of an animated %s', async (_format, source) => {
    const { width, height, colourAt } = await thumbnailOf(await source());

    expect([width, height]).toEqual([32, 24]);
    expect(colourAt(0.1, 0.5)).toEqual(near(RED));
    expect(colourAt(0.9, 0.5)).toEqual(near(BLUE));
  });
});

describe('make_thumbnail with bytes that every browser ignores', () => {
  const png = () => halves(64, 48).png().toBuffer();
  const jpeg = () => halves(64, 48).jpeg({ quality: 90 }).toBuffer();
  const zip = Buffer.concat([Buffer.from('PK\x05\x06', 'latin1'), Buffer.alloc(18)]);

  it.each([
    ['a line break after a PNG', async () => Buffer.concat([await png(), Buffer.from('\n')])],
    ['zeros after a PNG', async () => Buffer.concat([await png(), Buffer.alloc(512)])],
    ['an archive after a PNG', async () => Buffer.concat([await png(), zip])],
    ['bytes after the compressed data of a PNG', async () => withMoreData(await png(), Buffer.alloc(4))],
    ['bytes after a JPEG', async () => Buffer.concat([await jpeg(), Buffer.alloc(512)])],
    ['fill bytes in a JPEG', async () => afterStart(await jpeg(), Buffer.from([255, 255, 255]))],
    ['an unknown segment in a JPEG', async () => afterStart(await jpeg(), Buffer.from([255, 0xe9, 0, 4, 1, 2]))],
    ['bytes after a GIF', async () => Buffer.concat([await halves(64, 48).gif().toBuffer(), zip])],
    ['bytes after a WebP', async () => Buffer.concat([await halves(64, 48).webp().toBuffer(), zip])],
    ['bytes after an AVIF', async () => Buffer.concat([await halves(64, 48).avif({ effort: 0 }).toBuffer(), zip])],
  ])('accepts %s', async (_kind, source) => {
    const { width, height, colourAt } = await thumbnailOf(await source());

    expect([width, height]).toEqual([32, 24]);
    expect(colourAt(0.1, 0.5)).toEqual(near(RED));
    expect(colourAt(0.9, 0.5)).toEqual(near(BLUE));
  });
});
