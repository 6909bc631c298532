import { DeadLetter, defineHandler } from 'millrace';
import * as z from 'zod';

/** Reads an image from one address, and stores it with at most `width` pixels at another: on S3, a presigned URL. */
export default defineHandler({
  jobType: 'make_thumbnail',
  payload: z.object({ source: z.url(), target: z.url(), width: z.int().min(1).max(4096) }),
  timeout: '1m',
  memory: 1792,
  // The delay between the attempts is in the environment: MILLRACE_RETRY_DELAY_make_thumbnail.
  maxAttempts: 3,
  nativeModules: ['sharp'],
  // Decoding keeps the processor busy, so the jobs of a batch would wait for each other.
  batch: { size: 1 },
  async run({ payload: { source, target, width }, signal, log }) {
    const original = await get(source, signal);
    const { default: sharp } = await import('sharp');
    const image = sharp(original).rotate().resize({ width, withoutEnlargement: true });
    const { data, info } = await image.jpeg().toBuffer({ resolveWithObject: true }).catch(refuse);
    await put(target, data, signal);
    log.info('thumbnail_stored', { width: info.width, height: info.height });
    return { width: info.width, height: info.height, bytes: data.byteLength };
  },
});

/** Returns a file. A missing file fails the attempt, since it may be uploaded later. */
async function get(address: string, signal: AbortSignal): Promise<ArrayBuffer> {
  const response = await fetch(address, { signal });
  if (!response.ok) throw new Error(`GET ${address} returned ${response.status}`);
  return response.arrayBuffer();
}

async function put(address: string, body: Buffer, signal: AbortSignal): Promise<void> {
  const headers = { 'Content-Type': 'image/jpeg' };
  const response = await fetch(address, { method: 'PUT', body: new Uint8Array(body), headers, signal });
  if (!response.ok) throw new Error(`PUT ${address} returned ${response.status}`);
}

/** No later attempt can decode a broken image. */
function refuse(cause: unknown): never {
  throw new DeadLetter('the source is not an image', { cause });
}
