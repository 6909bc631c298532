import * as z from 'zod';
import { optionalSetting } from '../../core/config.ts';
import { defineHandler } from '../../core/handler/handler.ts';
import { retry } from '../../core/handler/retry-policy.ts';
import { getFile, putFile } from '../web-files.ts';

const MOST_SOURCE_BYTES = 50_000_000;

const webAddress = z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).max(8_000);

/**
 * Fetches an image (JPEG, PNG, WebP, GIF or AVIF), scales it down to `width` pixels and puts it as a JPEG to `target`;
 * on AWS, `target` is a presigned URL of S3. A missing source fails the attempt, because the source may appear later.
 *
 * Idempotent: the same source gives the same bytes, and the next attempt puts them to the same address.
 *
 * Addresses come from the caller who enqueues, so only public ones are allowed. `THUMBNAIL_PRIVATE_HOSTS`, a
 * comma-separated list of host names, allows private and loopback addresses; link-local ones are always refused.
 */
export default defineHandler({
  jobType: 'make_thumbnail',
  payload: z.object({
    source: webAddress,
    target: webAddress,
    width: z.int().min(1).max(4_096),
  }),
  timeout: '60s',
  // Lambda provides a full core from 1769 MB, and the largest images require most of this memory.
  memory: 1792,
  nativeModules: ['sharp'],
  // Decoding keeps the core busy: a second job in the same process would wait while its timeout runs.
  batch: { size: 1 },
  retry: retry.schedule(['5s', '1m', '5m', '30m', '2h']),
  async run({ payload: { source, target, width }, signal }) {
    const access = { signal, privateHosts: privateHosts() };
    const original = await getFile(source, MOST_SOURCE_BYTES, access);
    // Imported here, so that reading the handler definition does not load it.
    const { makeThumbnail } = await import('../thumbnail.ts');
    const thumbnail = await makeThumbnail(original, width, signal);
    await putFile(target, { bytes: thumbnail.jpeg, type: 'image/jpeg' }, access);
    return { width: thumbnail.width, height: thumbnail.height, bytes: thumbnail.jpeg.byteLength };
  },
});

function privateHosts(): ReadonlySet<string> {
  const hosts = optionalSetting('THUMBNAIL_PRIVATE_HOSTS') ?? '';
  return new Set(
    hosts.split(',').map((host) =>
      host
        .trim()
        .toLowerCase()
        .replace(/^\[|\]$/g, ''),
    ),
  );
}
