import { beforeEach, describe, expect, it, vi } from 'vitest';
import { DeadLetter, RetryAfter } from '../../../core/handler/chosen-outcome.ts';
import { retryDelay } from '../../../core/handler/retry-policy.ts';
import makeThumbnail from '../../../functions/handlers/make-thumbnail.ts';
import { eventually } from '../../support/eventually.ts';
import { type FileServer, startFileServer } from './file-server.ts';
import { validate } from './run-handler.ts';
import { halves, run } from './thumbnails.ts';

let web: FileServer;

beforeEach(async () => {
  web = await startFileServer();
});

describe('make_thumbnail on the web', () => {
  it('fails with a backoff of 5 seconds while the source is missing', async () => {
    const error = await run(web, { source: `${web.origin}/in?signature=secret` }).catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ code: 'HTTP_404', message: `GET ${web.origin}/in answered 404` });
    expect(error).not.toBeInstanceOf(DeadLetter);
    expect(retryDelay(makeThumbnail.retry, 1, 0)).toBe(5);
  });

  it('honours Retry-After, up to an hour', async () => {
    web.answers.set('/in', (_request, response) => response.writeHead(503, { 'retry-after': '120' }).end());
    web.answers.set('/later', (_request, response) => response.writeHead(429, { 'retry-after': '99999' }).end());

    const error = await run(web).catch((thrown: unknown) => thrown);
    const later = await run(web, { source: `${web.origin}/later` }).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(RetryAfter);
    expect(error).toMatchObject({ delaySeconds: 120, message: expect.stringContaining('answered 503') });
    expect(later).toMatchObject({ delaySeconds: 3600 });
  });

  it('honours Retry-After with a date, and has its own backoff when the header is unreadable', async () => {
    const date = new Date(Date.now() + 600_000).toUTCString();
    web.answers.set('/in', (_request, response) => response.writeHead(503, { 'retry-after': date }).end());
    web.answers.set('/odd', (_request, response) => response.writeHead(429, { 'retry-after': 'soon' }).end());

    const dated = await run(web).catch((thrown: unknown) => thrown);
    const odd = await run(web, { source: `${web.origin}/odd` }).catch((thrown: unknown) => thrown);

    expect(Math.ceil((dated as RetryAfter).delaySeconds ?? 0)).toBeLessThanOrEqual(600);
    expect((dated as RetryAfter).delaySeconds).toBeGreaterThan(300);
    expect(odd).toMatchObject({ code: 'HTTP_429', message: `GET ${web.origin}/odd answered 429` });
  });

  it('fails when the target refuses the file', async () => {
    web.files.set('/in', await halves(4, 4).png().toBuffer());
    web.answers.set('/out', (request, response) => request.resume().on('end', () => response.writeHead(403).end()));

    await expect(run(web)).rejects.toMatchObject({ code: 'HTTP_403', message: `PUT ${web.origin}/out answered 403` });
  });

  it('follows up to three redirects', async () => {
    web.files.set('/in', await halves(4, 4).png().toBuffer());
    web.answers.set('/moved', (_request, response) => response.writeHead(302, { location: '/in' }).end());
    web.answers.set('/loop', (_request, response) => response.writeHead(307, { location: '/loop' }).end());

    const result = await run(web, { source: `${web.origin}/moved` });
    const loop = run(web, { source: `${web.origin}/loop` });

    expect(result).toMatchObject({ width: 4 });
    await expect(loop).rejects.toThrow('more than 3 redirects');
    expect(web.requests.filter(({ line }) => line === 'GET /loop')).toHaveLength(4);
  });

  it('throws DeadLetter for a source that is too large, without reading all of it', async () => {
    const chunk = Buffer.alloc(1_000_000);
    let sent = 0;
    web.answers.set('/in', (_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write(chunk)) sent += chunk.length;
      };
      response.writeHead(200).on('drain', more);
      more();
    });

    await expect(run(web)).rejects.toThrow(/^the file is larger than 50000000 bytes$/);

    expect(sent).toBeLessThan(80_000_000);
  });

  it('fails when the connection to the source breaks', async () => {
    web.answers.set('/in', (_request, response) => {
      response.writeHead(200, { 'content-length': '1000' }).write('abc', () => response.destroy());
    });

    await expect(run(web)).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it.each(['/in', '/out'])('stops when its signal aborts while %s hangs', async (path) => {
    web.files.set('/in', await halves(4, 4).png().toBuffer());
    const hung = vi.fn();
    web.answers.set(path, (_request, response) => hung(response));
    const stop = new AbortController();

    const attempt = run(web, {}, stop.signal);
    attempt.catch(() => undefined);
    await eventually(() => expect(hung).toHaveBeenCalled());
    stop.abort();

    await expect(attempt).rejects.toMatchObject({ name: 'AbortError' });
  });
});

describe('make_thumbnail with addresses', () => {
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
  ])('with private hosts "%s" throws DeadLetter for %s', async (hosts, address, reason) => {
    vi.stubEnv('THUMBNAIL_PRIVATE_HOSTS', hosts);

    const error = await run(web, { source: address }).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(DeadLetter);
    expect(error).toHaveProperty('message', expect.stringContaining(reason));
  });

  it('checks the target like the source, before it sends a byte', async () => {
    web.files.set('/in', await halves(4, 4).png().toBuffer());

    await expect(run(web, { target: web.origin.replace('127.0.0.1', 'localhost') })).rejects.toThrow(DeadLetter);

    expect(web.requests.map(({ line }) => line)).toEqual(['GET /in']);
  });

  it('checks the address of a redirect', async () => {
    web.answers.set('/in', (_request, response) =>
      response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data/' }).end(),
    );

    await expect(run(web)).rejects.toThrow('link-local');
  });

  it('refuses a redirect to an address that is not http or https', async () => {
    web.answers.set('/in', (_request, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end());

    await expect(run(web)).rejects.toThrow('not http or https');
  });

  it('allows a private host whose name is listed', async () => {
    vi.stubEnv('THUMBNAIL_PRIVATE_HOSTS', 'files.example, LOCALHOST');
    web.files.set('/in', await halves(4, 4).png().toBuffer());
    const origin = web.origin.replace('127.0.0.1', 'localhost');

    expect(await run(web, { source: `${origin}/in`, target: `${origin}/out` })).toMatchObject({ width: 4 });
  });
});

it.each([
  ['source', 'a.jpg', 'must be an http or https address'],
  ['source', 'file:///etc/passwd', 'must be an http or https address'],
  ['target', 'ftp://example.com/a.jpg', 'must be an http or https address'],
  ['target', undefined, 'must be an http or https address'],
  ['width', 0, 'expected number to be >=1'],
  ['width', 4097, 'expected number to be <=4096'],
  ['width', 1.5, 'expected int, received number'],
  ['width', '320', 'expected number, received string'],
])('make_thumbnail rejects a payload whose %s is %j, and names the expected value', async (field, value, message) => {
  const good = { source: 'https://example.com/a.jpg', target: 'https://example.com/b.jpg', width: 320 };

  const { issues } = await validate(makeThumbnail, { ...good, [field]: value });

  expect(issues).toMatchObject([{ path: [field], message: expect.stringContaining(message) }]);
});
