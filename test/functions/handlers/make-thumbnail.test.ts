import { imageSize } from 'image-size';
import { PNG } from 'pngjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DeadLetter, RetryAfter } from '../../../core/outcome.ts';
import { retryDelay } from '../../../core/retry-policy.ts';
import { decode, encodeJpeg } from '../../../functions/codecs.ts';
import makeThumbnail from '../../../functions/handlers/make-thumbnail.ts';
import { eventually } from '../../support/eventually.ts';
import { type FileServer, startFileServer } from './file-server.ts';
import { runHandler, validate } from './run-handler.ts';

let web: FileServer;

beforeEach(async () => {
  web = await startFileServer();
  vi.stubEnv('THUMBNAIL_PRIVATE_HOSTS', '127.0.0.1');
});
afterEach(() => {
  vi.unstubAllEnvs();
});

/** Left half red, right half blue. */
function halves(width: number, height: number) {
  const data = new Uint8Array(width * height * 4);
  for (let i = 0; i < data.length; i += 4)
    data.set((i / 4) % width < width / 2 ? [255, 0, 0, 255] : [0, 0, 255, 255], i);
  return { data, width, height };
}

function png(image: ReturnType<typeof halves>): Uint8Array {
  return PNG.sync.write(Object.assign(new PNG(image), { data: Buffer.from(image.data) }));
}

/** The EXIF note of a camera that was held on its side: show this turned by 90 degrees, clockwise. */
function turned(jpeg: Uint8Array): Uint8Array {
  const exif = Buffer.from('ffe1002245786966000049492a000800000001001201030001000000060000000000000000', 'hex');
  exif.writeUInt16BE(exif.length - 2, 2);
  return Buffer.concat([jpeg.subarray(0, 2), exif, jpeg.subarray(2)]);
}

function run(payload: object, signal = new AbortController().signal) {
  const defaults = { source: `${web.origin}/in`, target: `${web.origin}/out`, width: 32 };
  return runHandler(makeThumbnail, { payload: { ...defaults, ...payload }, signal });
}

function pixel({ data, width }: { data: ArrayLike<number>; width: number }, x: number, y: number): number[] {
  const at = (y * width + x) * 4;
  return [data[at]!, data[at + 1]!, data[at + 2]!];
}

function near(colour: number[]) {
  return colour.map((channel) => expect.closeTo(channel, -1));
}

describe('scaling', () => {
  it.each([
    ['JPEG', () => encodeJpeg(halves(640, 480), 90)],
    ['PNG', async () => png(halves(640, 480))],
  ])('puts a JPEG of the wanted width, made from a %s', async (_format, source) => {
    web.files.set('/in', await source());

    const result = await run({});

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
  ])('takes a %s WebP', async (_kind, source) => {
    web.files.set('/in', Buffer.from(source, 'base64'));

    const result = await run({});

    expect(result).toMatchObject({ width: 1, height: 1 });
    expect(imageSize(web.files.get('/out')!)).toMatchObject({ type: 'jpg' });
  });

  it('turns a photo the way its camera noted', async () => {
    web.files.set('/in', turned(await encodeJpeg(halves(640, 480), 90)));

    await run({});

    const pixels = await decode('jpg', web.files.get('/out')!);
    expect([pixels.width, pixels.height]).toEqual([32, 43]);
    expect(pixel(pixels, 16, 5)).toEqual(near([254, 0, 0]));
    expect(pixel(pixels, 16, 38)).toEqual(near([0, 0, 254]));
  });

  it('keeps the width of an image that is narrower than wanted', async () => {
    web.files.set('/in', png(halves(20, 10)));

    expect(await run({ width: 4096 })).toMatchObject({ width: 20, height: 10 });
  });

  it('keeps at least one line of a very flat image', async () => {
    web.files.set('/in', png(halves(1000, 2)));

    expect(await run({ width: 10 })).toMatchObject({ width: 10, height: 1 });
  });

  it('gives the same bytes every time', async () => {
    web.files.set('/in', await encodeJpeg(halves(640, 480), 90));

    await run({});
    const first = web.files.get('/out');
    await run({});

    expect(web.files.get('/out')).toEqual(first);
    expect(web.files.get('/out')).not.toBe(first);
  });
});

describe('sources that are not images', () => {
  const gif = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
  const bomb = png(halves(2, 2));
  Buffer.from(bomb.buffer, bomb.byteOffset).writeUInt32BE(60_000, 16);
  Buffer.from(bomb.buffer, bomb.byteOffset).writeUInt32BE(60_000, 20);

  it.each([
    ['empty', () => new Uint8Array(), 'not an image'],
    ['a web page', () => Buffer.from('<!doctype html><title>Sorry</title>'), 'not an image'],
    ['a GIF', () => gif, 'of type gif, expected a JPEG, PNG or WebP image'],
    ['a PNG that claims to be gigapixels', () => bomb, '60000 × 60000 pixels'],
    ['half a PNG', () => png(halves(64, 64)).subarray(0, 120), 'cannot be decoded as png'],
    ['half a JPEG', async () => (await encodeJpeg(halves(64, 64), 90)).subarray(0, 300), 'cannot be decoded as jpg'],
  ])('makes a dead letter of one that is %s', async (_kind, source, reason) => {
    web.files.set('/in', await source());

    const error = await run({}).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(DeadLetter);
    expect(error).toHaveProperty('message', expect.stringContaining(reason));
    expect(web.files.has('/out')).toBe(false);
  });

  it('decodes the next image after one that was broken', async () => {
    const good = await encodeJpeg(halves(64, 64), 90);
    web.files.set('/in', good.subarray(0, 300));
    await run({}).catch(() => undefined);
    web.files.set('/in', good);

    expect(await run({})).toMatchObject({ width: 32, height: 32 });
  });
});

describe('the web', () => {
  it('fails as usual while the source is not there, first for 5 seconds', async () => {
    const error = await run({ source: `${web.origin}/in?signature=secret` }).catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ code: 'HTTP_404', message: `GET ${web.origin}/in answered 404` });
    expect(error).not.toBeInstanceOf(DeadLetter);
    expect(retryDelay(makeThumbnail.retry, 1, 0)).toBe(5);
  });

  it('waits as long as the server says, an hour at most', async () => {
    web.answers.set('/in', (_request, response) => response.writeHead(503, { 'retry-after': '120' }).end());
    web.answers.set('/later', (_request, response) => response.writeHead(429, { 'retry-after': '99999' }).end());

    const error = await run({}).catch((thrown: unknown) => thrown);
    const later = await run({ source: `${web.origin}/later` }).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(RetryAfter);
    expect(error).toMatchObject({ delaySeconds: 120, message: expect.stringContaining('answered 503') });
    expect(later).toMatchObject({ delaySeconds: 3600 });
  });

  it('fails when the target refuses the file', async () => {
    web.files.set('/in', png(halves(4, 4)));
    web.answers.set('/out', (request, response) => request.resume().on('end', () => response.writeHead(403).end()));

    await expect(run({})).rejects.toMatchObject({ code: 'HTTP_403', message: `PUT ${web.origin}/out answered 403` });
  });

  it('follows redirects, but not for ever', async () => {
    web.files.set('/in', png(halves(4, 4)));
    web.answers.set('/moved', (_request, response) => response.writeHead(302, { location: '/in' }).end());
    web.answers.set('/loop', (_request, response) => response.writeHead(307, { location: '/loop' }).end());

    const result = await run({ source: `${web.origin}/moved` });
    const loop = run({ source: `${web.origin}/loop` });

    expect(result).toMatchObject({ width: 4 });
    await expect(loop).rejects.toThrow('more than 3 redirects');
    expect(web.requests.filter(({ line }) => line === 'GET /loop')).toHaveLength(4);
  });

  it('makes a dead letter of a source that is too large, without reading it all', async () => {
    const chunk = Buffer.alloc(1_000_000);
    let sent = 0;
    web.answers.set('/in', (_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write(chunk)) sent += chunk.length;
      };
      response.writeHead(200).on('drain', more);
      more();
    });

    await expect(run({})).rejects.toThrow(/^the file is larger than 50000000 bytes$/);

    expect(sent).toBeLessThan(80_000_000);
  });

  it('fails as usual when the source breaks off', async () => {
    web.answers.set('/in', (_request, response) => {
      response.writeHead(200, { 'content-length': '1000' }).write('abc', () => response.destroy());
    });

    await expect(run({})).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it.each(['/in', '/out'])('stops when its signal fires while %s hangs', async (path) => {
    web.files.set('/in', png(halves(4, 4)));
    const hung = vi.fn();
    web.answers.set(path, (_request, response) => hung(response));
    const stop = new AbortController();

    const attempt = run({}, stop.signal);
    attempt.catch(() => undefined);
    await eventually(() => expect(hung).toHaveBeenCalled());
    stop.abort();

    await expect(attempt).rejects.toMatchObject({ name: 'AbortError' });
  });
});

describe('addresses', () => {
  it.each([
    ['', 'http://127.0.0.1:9/a', '127.0.0.1 is not a public address'],
    ['', 'http://localhost:9/a', 'is not a public address'],
    ['', 'http://2130706433:9/a', '127.0.0.1 is not a public address'],
    ['', 'http://10.1.2.3:9/a', 'not a public address'],
    ['', 'http://172.31.0.1:9/a', 'not a public address'],
    ['', 'http://[::1]:9/a', '::1 is not a public address'],
    ['', 'http://[::ffff:127.0.0.1]:9/a', 'not a public address'],
    ['', 'http://[fd12::1]:9/a', 'not a public address'],
    ['169.254.169.254', 'http://169.254.169.254/latest/meta-data/', 'link-local'],
    ['[fe80::1]', 'http://[fe80::1]:9/a', 'link-local'],
    ['[fd00:ec2::254]', 'http://[fd00:ec2::254]/latest', 'link-local'],
  ])('with private hosts "%s" it makes a dead letter of %s', async (hosts, address, reason) => {
    vi.stubEnv('THUMBNAIL_PRIVATE_HOSTS', hosts);

    const error = await run({ source: address }).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(DeadLetter);
    expect(error).toHaveProperty('message', expect.stringContaining(reason));
  });

  it('judges the target like the source, before a byte is sent to it', async () => {
    web.files.set('/in', png(halves(4, 4)));

    await expect(run({ target: web.origin.replace('127.0.0.1', 'localhost') })).rejects.toThrow(DeadLetter);

    expect(web.requests.map(({ line }) => line)).toEqual(['GET /in']);
  });

  it('judges where a redirect leads', async () => {
    web.answers.set('/in', (_request, response) =>
      response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data/' }).end(),
    );

    await expect(run({})).rejects.toThrow('link-local');
  });

  it('follows no redirect off the web', async () => {
    web.answers.set('/in', (_request, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end());

    await expect(run({})).rejects.toThrow('not on the web');
  });

  it('reaches a private host by its name when that is listed', async () => {
    vi.stubEnv('THUMBNAIL_PRIVATE_HOSTS', 'files.example, LOCALHOST');
    web.files.set('/in', png(halves(4, 4)));
    const origin = web.origin.replace('127.0.0.1', 'localhost');

    expect(await run({ source: `${origin}/in`, target: `${origin}/out` })).toMatchObject({ width: 4 });
  });
});

it.each([
  ['source', 'a.jpg'],
  ['source', 'file:///etc/passwd'],
  ['target', 'ftp://example.com/a.jpg'],
  ['target', undefined],
  ['width', 0],
  ['width', 4097],
  ['width', 1.5],
  ['width', '320'],
])('refuses a payload whose %s is %j, and names it', async (field, value) => {
  const good = { source: 'https://example.com/a.jpg', target: 'https://example.com/b.jpg', width: 320 };

  const { issues } = await validate(makeThumbnail, { ...good, [field]: value });

  expect(issues?.map((issue) => issue.path)).toEqual([[field]]);
});
