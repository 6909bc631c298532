import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { RetryAfter } from '../core/handler/chosen-outcome.ts';
import { retryAfterSeconds } from '../core/handler/retry-after.ts';
import { checkLiteralAddress, guardedLookup } from './addresses.ts';
import { acceptedCodings, removeCodings, tooLarge } from './content-coding.ts';

export interface WebAccess {
  readonly signal: AbortSignal;
  /** Hosts that are allowed although their address is not public. */
  readonly privateHosts: ReadonlySet<string>;
}

/** A server answered with an error. `code`, such as `HTTP_404`, allows a retry policy to distinguish statuses. */
class HttpStatusError extends Error {
  override readonly name = 'HttpStatusError';
  readonly code: string;

  constructor(url: URL, method: string, status: number) {
    // Without the query, which contains the signature of a presigned URL.
    super(`${method} ${url.origin}${url.pathname} answered ${status}`);
    this.code = `HTTP_${status}`;
  }
}

const MOST_REDIRECTS = 3;
const LONGEST_RETRY_AFTER_SECONDS = 3_600;

/**
 * Returns the bytes of a file on the web, without their content codings. Follows up to three redirects and checks each
 * address as it checks the first.
 * @throws DeadLetter if the file is larger than `mostBytes`, encoded or decoded, if its coding is unknown or broken, or
 * if its address is not allowed; otherwise Error.
 */
export async function getFile(address: string, mostBytes: number, access: WebAccess): Promise<Uint8Array> {
  let url = new URL(address);
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
    const response = await send('GET', url, access);
    const next = redirectOf(response, url);
    if (!next) return readDecoded(succeeded(response, 'GET', url), mostBytes);
    response.destroy();
    url = next;
  }
  throw new Error(`${url.origin}${url.pathname}: more than ${MOST_REDIRECTS} redirects`);
}

/** Puts a file to an address such as a presigned URL of S3. Does not follow redirects. */
export async function putFile(address: string, file: { bytes: Uint8Array; type: string }, access: WebAccess) {
  const url = new URL(address);
  const response = succeeded(await send('PUT', url, access, file), 'PUT', url);
  await read(response, 1_000_000);
}

function send(method: string, url: URL, access: WebAccess, file?: { bytes: Uint8Array; type: string }) {
  checkLiteralAddress(url.hostname, access.privateHosts);
  const options = {
    method,
    signal: access.signal,
    lookup: guardedLookup(access.privateHosts),
    // Without keep-alive: a connection would not survive the freeze between two invocations.
    agent: false,
    headers: file
      ? { 'content-type': file.type, 'content-length': file.bytes.byteLength }
      : { 'accept-encoding': acceptedCodings },
  } as const;
  return new Promise<IncomingMessage>((resolve, reject) => {
    const request = (url.protocol === 'https:' ? https : http).request(url, options, resolve);
    request.on('error', reject);
    request.end(file?.bytes);
  });
}

function redirectOf(response: IncomingMessage, from: URL): URL | undefined {
  const status = response.statusCode ?? 0;
  if (![301, 302, 303, 307, 308].includes(status) || !response.headers.location) return undefined;
  const to = URL.parse(response.headers.location, from.href);
  if (to && /^https?:$/.test(to.protocol)) return to;
  response.destroy();
  throw new Error(`${from.origin}${from.pathname} redirects to an address that is not http or https`);
}

function succeeded(response: IncomingMessage, method: string, url: URL): IncomingMessage {
  const status = response.statusCode ?? 0;
  if (status >= 200 && status < 300) return response;
  response.destroy();
  const error = new HttpStatusError(url, method, status);
  const wait = retryAfterSeconds(response.headers['retry-after']);
  if (wait === undefined) throw error;
  throw new RetryAfter(Math.min(wait, LONGEST_RETRY_AFTER_SECONDS), error);
}

async function readDecoded(response: IncomingMessage, mostBytes: number): Promise<Uint8Array> {
  return removeCodings(await read(response, mostBytes), response.headers['content-encoding'], mostBytes);
}

async function read(response: IncomingMessage, mostBytes: number): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    // Leaving the loop closes the connection.
    if (size > mostBytes) throw tooLarge(mostBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
