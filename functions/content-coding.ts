import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw, type ZlibOptions, zstdDecompress } from 'node:zlib';
import { messageOf } from '../core/failure.ts';
import { DeadLetter } from '../core/handler/chosen-outcome.ts';

type Decoder = (bytes: Uint8Array, limits: Pick<ZlibOptions, 'maxOutputLength'>) => Promise<Buffer>;

const [zlib, raw] = [promisify<Uint8Array, object, Buffer>(inflate), promisify<Uint8Array, object, Buffer>(inflateRaw)];
/**
 * Decodes `deflate` with or without the zlib header, whose first byte always ends in 8; some servers omit the header.
 */
const deflate: Decoder = (bytes, limits) => (((bytes[0] ?? 0) & 15) === 8 ? zlib : raw)(bytes, limits);

const gzip = promisify<Uint8Array, object, Buffer>(gunzip);
const DECODERS: ReadonlyMap<string, Decoder> = new Map([
  ['gzip', gzip],
  ['x-gzip', gzip],
  ['deflate', deflate],
  ['br', promisify<Uint8Array, object, Buffer>(brotliDecompress)],
  ['zstd', promisify<Uint8Array, object, Buffer>(zstdDecompress)],
]);
const MOST_CODINGS = 5;

/**
 * Value of `Accept-Encoding`. Without this header, a server may send any coding. S3 ignores it and sends the stored
 * coding.
 */
export const acceptedCodings = 'gzip, deflate, br, zstd';

/**
 * Removes the codings of `Content-Encoding` from a body.
 * @throws DeadLetter for an unknown coding, and for a body that is broken or larger than `mostBytes`.
 */
export async function removeCodings(body: Uint8Array, header: string | undefined, mostBytes: number) {
  const codings = (header ?? '').split(',').map((coding) => coding.trim().toLowerCase());
  const applied = codings.filter((coding) => coding !== '' && coding !== 'identity');
  if (applied.length > MOST_CODINGS) throw new DeadLetter(`the file has more than ${MOST_CODINGS} content codings`);
  let bytes = body;
  // The last coding of the list was applied last.
  for (const coding of applied.reverse()) bytes = await remove(coding, bytes, mostBytes);
  return bytes;
}

async function remove(coding: string, bytes: Uint8Array, mostBytes: number): Promise<Uint8Array> {
  const decode = DECODERS.get(coding);
  if (!decode) throw new DeadLetter(`the file has the content coding ${coding}, expected ${acceptedCodings}`);
  try {
    return await decode(bytes, { maxOutputLength: mostBytes });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(mostBytes, cause);
    throw new DeadLetter(`the file cannot be decoded as ${coding}: ${messageOf(cause)}`, { cause });
  }
}

export function tooLarge(mostBytes: number, cause?: unknown): DeadLetter {
  return new DeadLetter(`the file is larger than ${mostBytes} bytes`, { cause });
}
