import { imageSize } from 'image-size';
import { DeadLetter } from '../core/handler/chosen-outcome.ts';
import { CodecError, decode, encodeJpeg, type ImageFormat } from './codecs.ts';
import { type Pixels, shrink } from './shrink.ts';

export interface Thumbnail {
  readonly jpeg: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/** One pixel uses up to 30 bytes until garbage collection: 50 megapixels fit in a function of 1.75 GB. */
const MOST_PIXELS = 50_000_000;
const FORMATS: readonly string[] = ['jpg', 'png', 'webp'] satisfies ImageFormat[];
const QUALITY = 80;

/**
 * Makes a JPEG of `width` pixels with the aspect ratio of `source`, a JPEG, PNG or WebP. A narrower source keeps its
 * width. Decoding blocks the event loop for half a second per 12 megapixels on a full core.
 * @throws DeadLetter when the bytes are not such an image, or the image would not fit in memory.
 */
export async function makeThumbnail(source: Uint8Array, width: number): Promise<Thumbnail> {
  const format = checkedFormat(source);
  const pixels = await decode(format, source).catch((cause: unknown) => {
    if (!(cause instanceof CodecError)) throw cause;
    throw new DeadLetter(`the source cannot be decoded as ${format}: ${cause.message}`, { cause });
  });
  const small = scale(pixels, width);
  return { jpeg: await encodeJpeg(small, QUALITY), width: small.width, height: small.height };
}

/** Returns the format. Reads the size from the header before it allocates: a file of 20 kB can declare gigapixels. */
function checkedFormat(source: Uint8Array): ImageFormat {
  const { type, width, height } = inspect(source);
  if (!isFormat(type)) throw new DeadLetter(`the source is of type ${type}, expected a JPEG, PNG or WebP image`);
  if (width * height > MOST_PIXELS) {
    throw new DeadLetter(`the source has ${width} × ${height} pixels, expected at most ${MOST_PIXELS} in total`);
  }
  return type;
}

function inspect(source: Uint8Array) {
  try {
    return imageSize(source);
  } catch (cause) {
    throw new DeadLetter('the source is not an image', { cause });
  }
}

function isFormat(type: string | undefined): type is ImageFormat {
  return type !== undefined && FORMATS.includes(type);
}

function scale(pixels: Pixels, width: number): Pixels {
  if (width >= pixels.width) return shrink(pixels, pixels.width, pixels.height);
  return shrink(pixels, width, Math.max(1, Math.round((pixels.height * width) / pixels.width)));
}
