import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { optionalSetting } from '../core/config.ts';

/** The input of the decoder process. */
export interface ImageOrder {
  readonly source: Uint8Array;
  readonly width: number;
  readonly mostPixels: number;
  readonly quality: number;
}

/**
 * The response of the process: a JPEG, the size of a source that is too large, or the reason why the source cannot be
 * decoded.
 */
export type ImageAnswer =
  | { readonly jpeg: Uint8Array; readonly width: number; readonly height: number }
  | { readonly columns: number; readonly rows: number }
  | { readonly reason: string };

/** The error if a limit, or a fault of a decoder, ended the process. */
export class DecoderEnded extends Error {
  override readonly name = 'DecoderEnded';
  readonly code = 'DECODER_ENDED';
}

/** Limits of the process. */
export interface ImageLimits {
  readonly processorSeconds: number;
  readonly memoryMb: number;
}

/**
 * The default limits: ten times the processor time of the slowest images, which are AVIF, and most of the function's
 * memory. An 8-bit image of 50 megapixels requires 1 GB as AVIF, and less in all other formats.
 */
const LIMITS: ImageLimits = { processorSeconds: 40, memoryMb: 1_600 };

/**
 * Decodes an image in its own process (docs/decisions/0029). A decoder stops only when its process ends, and a JPEG of
 * 200 kB with 900 scans, or a WebP with a million frames, would keep it busy for minutes.
 * @throws DecoderEnded if a limit or a fault ended the process; Error if the process cannot start, or the signal
 * aborts.
 */
export function decodeApart(order: ImageOrder, signal: AbortSignal, limits = LIMITS): Promise<ImageAnswer> {
  const sharp = createRequire(import.meta.url).resolve('sharp');
  const script = `(${answerOrder})(require(${JSON.stringify(sharp)}))`;
  // Soft limits: at a hard limit on processor time, the kernel sends SIGKILL instead of SIGXCPU.
  const limited = 'ulimit -S -t "$0" && ulimit -S -d "$1" && shift && exec "$@"';
  const { processorSeconds, memoryMb } = limits;
  const child = spawn(
    '/bin/sh',
    ['-c', limited, `${processorSeconds}`, `${memoryMb * 1024}`, process.execPath, '-e', script],
    {
      // Lambda's Node finds its libraries by this variable. The process receives no other variables, so no credentials.
      env: { LD_LIBRARY_PATH: optionalSetting('LD_LIBRARY_PATH') },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      serialization: 'advanced',
      signal,
      killSignal: 'SIGKILL',
    },
  );
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.once('exit', (code, ended) => reject(failure(code, ended, limits)));
    child.once('message', (answer) => {
      resolve(answer as ImageAnswer);
      child.kill('SIGKILL');
    });
    // If the process can no longer receive messages, its exit provides the reason.
    child.send(order, () => undefined);
  });
}

function failure(code: number | null, ended: string | null, { processorSeconds, memoryMb }: ImageLimits): Error {
  if (ended === null) return new Error(`the process of the decoder exited with ${code}`);
  if (ended === 'SIGXCPU') return new DecoderEnded(`decoding takes more than ${processorSeconds} s of processor time`);
  return new DecoderEnded(`the decoder ended with ${ended}; its limit is ${memoryMb} MB of memory`);
}

/**
 * Decodes the image of one order. The other process runs the source text of this function. The function therefore
 * refers to nothing outside itself and assigns no function to a name, for which esbuild would insert a call to a
 * helper.
 */
function answerOrder(sharp: typeof import('sharp').default): void {
  // On disconnect, the Lambda function's process has ended. A normal exit would wait for the decoder.
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  process.once('message', async ({ source, width, mostPixels, quality }: ImageOrder) => {
    try {
      // The process reads one image, once: a cache or more threads would only use memory.
      sharp.cache(false);
      sharp.concurrency(1);
      // Disables all other loaders of libvips, such as those for SVG, TIFF and PDF.
      sharp.block({ operation: ['VipsForeignLoad'] });
      for (const format of ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif']) {
        sharp.unblock({ operation: [`VipsForeignLoad${format}Buffer`] });
      }
      // As in browsers, warnings such as bytes after the end are ignored. A truncated file would be filled with grey,
      // so it is refused.
      const lenient = { failOn: 'truncated', sequentialRead: true } as const;
      const { width: columns, height: rows } = await sharp(source, { ...lenient, limitInputPixels: false }).metadata();
      if (columns * rows > mostPixels) return process.send?.({ columns, rows });
      const { data, info } = await sharp(source, { ...lenient, limitInputPixels: mostPixels })
        .autoOrient()
        .resize({ width, withoutEnlargement: true })
        .flatten({ background: 'white' })
        .jpeg({ quality, mozjpeg: true })
        .toBuffer({ resolveWithObject: true });
      process.send?.({ jpeg: data, width: info.width, height: info.height });
    } catch (error) {
      process.send?.({
        reason: String((error as Error).message)
          .trim()
          .split('\n')
          .at(-1),
      });
    }
  });
}
