import { DeadLetter } from '../core/handler/chosen-outcome.ts';
import { formatOf } from './image-format.ts';
import { DecoderEnded, decodeApart, type ImageAnswer } from './image-process.ts';

export interface Thumbnail {
  readonly jpeg: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/** Limit on pixels: some decoders keep the whole image in memory, with up to 25 bytes per pixel. */
const MOST_PIXELS = 50_000_000;
const QUALITY = 80;

/**
 * Makes a JPEG of `width` pixels with the aspect ratio of `source`, upright, in sRGB and on a white background. A
 * narrower source keeps its width. Of an animation, only the first frame is used.
 * @throws DeadLetter if the bytes are not a JPEG, PNG, WebP, GIF or AVIF image, are broken, or exceed a limit.
 */
export async function makeThumbnail(source: Uint8Array, width: number, signal: AbortSignal): Promise<Thumbnail> {
  const format = formatOf(source);
  if (format === undefined) throw new DeadLetter('the source is not a JPEG, PNG, WebP, GIF or AVIF image');
  const order = { source, width, mostPixels: MOST_PIXELS, quality: QUALITY };
  const answer = await decodeApart(order, signal).catch((cause: unknown): ImageAnswer => {
    if (cause instanceof DecoderEnded) return { reason: cause.message };
    throw cause;
  });
  if ('reason' in answer) throw new DeadLetter(`the source cannot be decoded as ${format}: ${answer.reason}`);
  if ('jpeg' in answer) return answer;
  const { columns, rows } = answer;
  throw new DeadLetter(`the source has ${columns} × ${rows} pixels, expected at most ${MOST_PIXELS} in total`);
}
