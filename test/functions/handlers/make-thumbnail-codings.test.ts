import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { beforeEach, expect, it } from 'vitest';
import { DeadLetter } from '../../../core/handler/chosen-outcome.ts';
import { type FileServer, startFileServer } from './file-server.ts';
import { halves, run } from './thumbnails.ts';

let web: FileServer;

beforeEach(async () => {
  web = await startFileServer();
});

it.each([
  ['gzip', (bytes: Buffer) => gzipSync(bytes)],
  ['x-gzip', (bytes: Buffer) => gzipSync(bytes)],
  ['deflate', (bytes: Buffer) => deflateSync(bytes)],
  ['deflate', (bytes: Buffer) => deflateRawSync(bytes)],
  ['br', (bytes: Buffer) => brotliCompressSync(bytes)],
  ['zstd', (bytes: Buffer) => zstdCompressSync(bytes)],
  ['GZIP, identity, br', (bytes: Buffer) => brotliCompressSync(gzipSync(bytes))],
  ['', (bytes: Buffer) => bytes],
])('make_thumbnail decodes a source with the content coding "%s"', async (coding, encode) => {
  const source = await halves(4, 4).jpeg().toBuffer();
  web.answers.set('/in', (_request, response) =>
    response.writeHead(200, { 'content-encoding': coding }).end(encode(source)),
  );

  expect(await run(web)).toMatchObject({ width: 4 });

  expect(web.requests[0]?.headers['accept-encoding']).toBe('gzip, deflate, br, zstd');
});

it.each([
  ['an unknown coding', 'compress', Buffer.from('x'), 'the file has the content coding compress, expected gzip,'],
  ['a coding that was not applied', 'gzip', Buffer.from('plain'), 'the file cannot be decoded as gzip: '],
  ['half of a compressed file', 'br', brotliCompressSync(Buffer.alloc(99)).subarray(0, 6), 'decoded as br: '],
  ['more than 50 MB after decoding', 'gzip', gzipSync(Buffer.alloc(50_000_001)), 'the file is larger than 50000000'],
  ['more codings than a server applies', Array(6).fill('gzip').join(), Buffer.from('x'), 'more than 5 content codings'],
])('make_thumbnail throws DeadLetter for a source with %s', async (_case, coding, body, reason) => {
  web.answers.set('/in', (_request, response) => response.writeHead(200, { 'content-encoding': coding }).end(body));

  const error = await run(web).catch((thrown: unknown) => thrown);

  expect(error).toBeInstanceOf(DeadLetter);
  expect(error).toHaveProperty('message', expect.stringContaining(reason));
});
