import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { startFileServer } from '../../../local/services/files.ts';
import { eventually } from '../../support/eventually.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

async function start(maxBytes?: number) {
  const parent = await temporaryFolder();
  await writeFile(join(parent, 'secret.txt'), 'secret');
  const folder = join(parent, 'files');
  const server = await startFileServer({ port: 0, folder, ...(maxBytes && { maxBytes }) });
  onTestFinished(() => server.close());
  return { ...server, folder };
}

/** Sends the path unchanged; `fetch` would resolve the dots. */
async function getRaw(port: number, path: string): Promise<{ status: number; body: string }> {
  const request = httpRequest({ host: '127.0.0.1', port, path }).end();
  const [response] = await once(request, 'response');
  return { status: response.statusCode, body: await text(response) };
}

it('GET returns the bytes of a PUT, with the content type of the extension', async () => {
  const { url } = await start();
  const bytes = Uint8Array.from({ length: 300_000 }, (_, index) => index % 251);
  const put = await fetch(`${url}/a/b/c%20d.JPG`, { method: 'PUT', body: bytes });

  const got = await fetch(`${url}/a/b/c%20d.JPG?X-Amz-Signature=1`);

  expect(put.status).toBe(200);
  expect(got.headers.get('content-type')).toBe('image/jpeg');
  expect(new Uint8Array(await got.arrayBuffer())).toEqual(bytes);
});

it('HEAD returns the size and no body', async () => {
  const { url } = await start();
  await fetch(`${url}/note.txt`, { method: 'PUT', body: 'twelve bytes' });

  const head = await fetch(`${url}/note.txt`, { method: 'HEAD' });

  expect(head.status).toBe(200);
  expect(head.headers.get('content-length')).toBe('12');
  expect(await head.text()).toBe('');
});

it('PUT replaces the whole file', async () => {
  const { url, folder } = await start();
  await fetch(`${url}/note.txt`, { method: 'PUT', body: 'a long first version' });

  await fetch(`${url}/note.txt`, { method: 'PUT', body: 'second' });

  expect(await readFile(join(folder, 'note.txt'), 'utf8')).toBe('second');
  expect(await readdir(folder)).toEqual(['note.txt']);
});

it('the file server keeps the old file when a client disconnects during a PUT', async () => {
  const { url, port, folder } = await start();
  await fetch(`${url}/note.txt`, { method: 'PUT', body: 'old' });
  const client = connect(port, '127.0.0.1');
  client.write('PUT /note.txt HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\nhalf');
  await eventually(async () => expect(await readdir(folder)).toHaveLength(2));

  client.destroy();

  await eventually(async () => expect(await readdir(folder)).toEqual(['note.txt']));
  expect(await readFile(join(folder, 'note.txt'), 'utf8')).toBe('old');
});

it('the file server answers 404 for a missing file and for a folder', async () => {
  const { url } = await start();
  await fetch(`${url}/a/b.txt`, { method: 'PUT', body: '' });

  const answers = await Promise.all(['/none.txt', '/a', '/a/b.txt/c', '/none/b.txt'].map((path) => fetch(url + path)));

  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
});

it('the file server answers 405 with the allowed methods', async () => {
  const { url } = await start();

  const answer = await fetch(`${url}/note.txt`, { method: 'DELETE' });

  expect(answer.status).toBe(405);
  expect(answer.headers.get('allow')).toBe('GET, HEAD, PUT');
});

it('the file server answers 409 when a file or a folder exists where the path requires the other', async () => {
  const { url, folder } = await start();
  await fetch(`${url}/a/b.txt`, { method: 'PUT', body: '' });

  const below = await fetch(`${url}/a/b.txt/c.txt`, { method: 'PUT', body: '' });
  const above = await fetch(`${url}/a`, { method: 'PUT', body: '' });

  expect([below.status, above.status]).toEqual([409, 409]);
  expect(await readdir(folder)).toEqual(['a']);
});

it.each([
  ['declared', 'x'.repeat(1_001)],
  ['streamed', new Blob(['x'.repeat(600), 'x'.repeat(600)]).stream()],
])('the file server answers 413 to a %s body that is too large, and stores nothing', async (_name, body) => {
  const { url, folder } = await start(1_000);

  const answer = await fetch(`${url}/big.txt`, { method: 'PUT', body, duplex: 'half' } as RequestInit);

  expect(answer.status).toBe(413);
  expect(await answer.text()).toBe('the file is larger than 1000 bytes\n');
  expect(await readdir(folder)).toEqual([]);
});

it.each([
  '/../secret.txt',
  '/%2e%2e/secret.txt',
  '/..%2fsecret.txt',
  '/a/../../secret.txt',
  '//secret.txt',
  '/.hidden',
  '/a%00.txt',
  '/%ff',
  '/',
  '/a\\..\\b',
])('the file server refuses the path %s', async (path) => {
  const { port } = await start();

  const { status, body } = await getRaw(port, path);

  expect(status).toBe(400);
  expect(body).not.toContain('secret\n');
});

it('the file server never serves a file outside its folder, whatever the path', async () => {
  const { port } = await start();
  const part = fc.constantFrom('..', '.', '', '%2e%2e', '%2E.', 'secret.txt', 'files', 'a', '..%2f', '%5c', '..;');
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 6 }), async (parts) => {
      const { status, body } = await getRaw(port, `/${parts.join('/')}`);

      expect([400, 404]).toContain(status);
      expect(body).not.toBe('secret');
    }),
    { numRuns: 200 },
  );
});

it('the file server serves the files of an existing folder', async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'photos'));
  await writeFile(join(folder, 'photos', 'cat.png'), 'png');
  const server = await startFileServer({ port: 0, folder });
  onTestFinished(() => server.close());

  const got = await fetch(`${server.url}/photos/cat.png`);

  expect([got.status, got.headers.get('content-type'), await got.text()]).toEqual([200, 'image/png', 'png']);
});
