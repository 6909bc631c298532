import * as z from 'zod';
import { optionalSetting } from '../../core/config.ts';
import { defineHandler } from '../../core/handler/handler.ts';
import { retry } from '../../core/handler/retry-policy.ts';
import { getFile, putFile } from '../web-files.ts';

const MOST_SOURCE_BYTES = 50_000_000;

const webAddress = z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).max(8_000);

/**
 * Fetches an image (JPEG, PNG or WebP), scales it down to `width` pixels and puts it, as a JPEG, to `target`: on AWS a
 * presigned address of S3. A source that is not there yet is an ordinary failure, since it may appear.
 *
 * Idempotent: the same source gives the same bytes, and a second run puts them to the same place again.
 *
 * Addresses come from whoever may enqueue, so only public ones are reached. `THUMBNAIL_PRIVATE_HOSTS`, host names
 * separated by commas, lists those that may be private or this machine; link-local ones are always refused.
 */
export default defineHandler({
  jobType: 'make_thumbnail',
  payload: z.object({
    source: webAddress,
    target: webAddress,
    width: z.int().min(1).max(4_096),
  }),
  timeout: '60s',
  // From 1769 MB on Lambda gives a whole core, and an image of 50 megapixels takes 1.5 GB.
  memory: 1792,
  // Decoding keeps the core busy: a second job in the same process would only wait, its timeout running.
  batch: { size: 1 },
  retry: retry.schedule(['5s', '1m', '5m', '30m', '2h']),
  async run({ payload: { source, target, width }, signal }) {
    const access = { signal, privateHosts: privateHosts() };
    const original = await getFile(source, MOST_SOURCE_BYTES, access);
    // Loaded here and not above: whoever only reads handler definitions does not need the codecs.
    const { makeThumbnail } = await import('../images.ts');
    const thumbnail = await makeThumbnail(original, width);
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
