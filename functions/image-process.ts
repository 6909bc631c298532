import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { optionalSetting } from '../core/config.ts';

/** What the process receives. */
export interface ImageOrder {
  readonly source: Uint8Array;
  readonly width: number;
  readonly mostPixels: number;
  readonly quality: number;
}

/** What the process answers: a JPEG, the size of a source that is too large, or why it cannot be decoded. */
export type ImageAnswer =
  | { readonly jpeg: Uint8Array; readonly width: number; readonly height: number }
  | { readonly columns: number; readonly rows: number }
  | { readonly reason: string };

/** The process was ended by a limit, or by a fault of a decoder. */
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
 * Ten times the processor time of the slowest images, which are AVIF, and most of the function's memory: 50 megapixels
 * of 8 bits require 1 GB as AVIF, and less in all other formats.
 */
const LIMITS: ImageLimits = { processorSeconds: 40, memoryMb: 1_600 };

/**
 * Decodes an image in a process of its own (docs/decisions/0029). Only the end of a process stops a decoder: a JPEG of
 * 200 kB with 900 scans, or a WebP with a million frames, would block it for minutes.
 * @throws DecoderEnded when a limit or a fault ended the process; Error when it cannot start, or the signal aborts.
 */
export function decodeApart(order: ImageOrder, signal: AbortSignal, limits = LIMITS): Promise<ImageAnswer> {
  const sharp = createRequire(import.meta.url).resolve('sharp');
  const script = `(${answerOrder})(require(${JSON.stringify(sharp)}))`;
  // Soft limits: at a hard limit of processor time, the kernel sends SIGKILL instead of SIGXCPU.
  const limited = 'ulimit -S -t "$0" && ulimit -S -d "$1" && shift && exec "$@"';
  const { processorSeconds, memoryMb } = limits;
  const child = spawn(
    '/bin/sh',
    ['-c', limited, `${processorSeconds}`, `${memoryMb * 1024}`, process.execPath, '-e', script],
    {
      // Lambda's Node finds its libraries by this variable. Nothing else is known to the process: no credentials.
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
    // The exit of a process that can no longer receive has the reason.
    child.send(order, () => undefined);
  });
}

function failure(code: number | null, ended: string | null, { processorSeconds, memoryMb }: ImageLimits): Error {
  if (ended === null) return new Error(`the process of the decoder exited with ${code}`);
  if (ended === 'SIGXCPU') return new DecoderEnded(`it takes more than ${processorSeconds} s of processor time`);
  return new DecoderEnded(`the decoder ended with ${ended}; its limit is ${memoryMb} MB of memory`);
}

/**
 * Runs in the other process, which receives its text: it refers to nothing outside of itself, and names no function,
 * for which esbuild would insert a call of its own.
 */
function answerOrder(sharp: typeof import('sharp').default): void {
  // The function's process has ended. Another way to exit would wait for the decoder.
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  process.once('message', async ({ source, width, mostPixels, quality }: ImageOrder) => {
    try {
      // An image is read once and alone: a cache or more threads would only use memory.
      sharp.cache(false);
      sharp.concurrency(1);
      // Switches off all other loaders of libvips, such as those of SVG, TIFF and PDF.
      sharp.block({ operation: ['VipsForeignLoad'] });
      for (const format of ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif']) {
        sharp.unblock({ operation: [`VipsForeignLoad${format}Buffer`] });
      }
      // Browsers ignore warnings, such as bytes after the end, but a truncated file would be filled with grey.
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
