import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, open, realpath, rename, rm } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { dirname, extname, join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { listenOnLoopback } from '../loopback/loopback-server.ts';
import { freePort } from '../processes/ports.ts';

export interface FileServer {
  readonly port: number;
  /** Without a trailing slash: `${url}/photos/cat.jpg` is `photos/cat.jpg` in the folder. */
  readonly url: string;
  close(): Promise<void>;
}

export interface FileServerOptions {
  /** Preferred port; the next free one is used if it is in use. */
  readonly port: number;
  readonly folder: string;
  /** Largest file that PUT accepts; default 50 MB. */
  readonly maxBytes?: number;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.avif': 'image/avif',
  '.bmp': 'image/bmp',
  '.gif': 'image/gif',
  '.html': 'text/html; charset=utf-8',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webp': 'image/webp',
};

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** An error response; the message is its body. */
class HttpError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.name = 'HttpError';
    this.status = status;
  }
}

/** Serves a folder on 127.0.0.1 by GET and HEAD, and stores files by PUT, completely or not at all. */
export async function startFileServer({ port, folder, maxBytes = 50_000_000 }: FileServerOptions): Promise<FileServer> {
  await mkdir(folder, { recursive: true });
  const root = await realpath(folder);
  return listenOnLoopback(await freePort(port), (request, response) => {
    const exchange = { request, response };
    answer(root, maxBytes, exchange).catch((error: unknown) => refuse(exchange, error));
  });
}

async function answer(root: string, maxBytes: number, { request, response }: Exchange): Promise<void> {
  const path = pathOf(root, request.url ?? '/');
  switch (request.method) {
    case 'GET':
    case 'HEAD':
      return send(path, request.method, response);
    case 'PUT':
      await receive(path, maxBytes, request);
      response.end();
      return;
    default:
      response.setHeader('Allow', 'GET, HEAD, PUT');
      throw new HttpError(405, `method ${request.method} is not allowed: use GET, HEAD or PUT`);
  }
}

/** Returns the path of the file that a URL names. Each segment is checked, so that none leaves the folder. */
function pathOf(root: string, url: string): string {
  const [encoded = ''] = url.split('?', 1);
  const segments = encoded.split('/').slice(1).map(decodeSegment);
  if (segments.some((segment) => segment === '' || segment.startsWith('.') || /[/\\\0]/.test(segment))) {
    throw new HttpError(400, 'expected a path such as /photos/cat.jpg; no part may be empty or begin with a dot');
  }
  return join(root, ...segments);
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw Object.assign(new HttpError(400, `"${segment}" is not percent-encoded UTF-8`), { cause });
  }
}

async function send(path: string, method: 'GET' | 'HEAD', response: ServerResponse): Promise<void> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOTDIR' ? HTTP_ERRORS.ENOENT : error;
  });
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new HttpError(404, 'no such file');
    response.writeHead(200, {
      'Content-Type': CONTENT_TYPES[extname(path).toLowerCase()] ?? 'application/octet-stream',
      'Content-Length': stats.size,
      'Last-Modified': stats.mtime.toUTCString(),
    });
    if (method === 'HEAD') response.end();
    else await pipeline(file.createReadStream({ autoClose: false }), response);
  } finally {
    await file.close();
  }
}

/** Writes a draft and renames it when complete: no client reads half a file, and the last of two writers wins. */
async function receive(path: string, maxBytes: number, request: IncomingMessage): Promise<void> {
  const tooLarge = new HttpError(413, `the file is larger than ${maxBytes} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge;
  await mkdir(dirname(path), { recursive: true });
  const draft = join(dirname(path), `.${randomUUID()}.new`);
  let bytes = 0;
  // Reads a body that is too large to its end: a client that still sends when the connection closes sees no response.
  const limit = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      done(null, bytes > maxBytes ? undefined : chunk);
    },
    flush(done) {
      done(bytes > maxBytes ? tooLarge : null);
    },
  });
  try {
    await pipeline(request, limit, createWriteStream(draft, { flags: 'wx' }));
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

const HTTP_ERRORS: Readonly<Record<string, HttpError>> = {
  ENOENT: new HttpError(404, 'no such file'),
  ENAMETOOLONG: new HttpError(400, 'the path is too long'),
  EEXIST: new HttpError(409, 'a file exists where this path requires a folder'),
  ENOTDIR: new HttpError(409, 'a file exists where this path requires a folder'),
  EISDIR: new HttpError(409, 'a folder of this name exists'),
};

function refuse({ request, response }: Exchange, error: unknown): void {
  // The client has gone or has received half the response: only closing the connection is left.
  if (response.headersSent || (request.destroyed && !request.complete)) {
    response.destroy();
    return;
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const { status, message } =
    error instanceof HttpError
      ? error
      : (HTTP_ERRORS[code] ?? new HttpError(500, `the file server failed: ${String(error)}`));
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' }).end(`${message}\n`);
  // A client that still sends reads the response only after its body was consumed.
  request.resume();
}
