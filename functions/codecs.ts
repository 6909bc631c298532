import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { PNG } from 'pngjs';
import type { Pixels } from './shrink.ts';

export type ImageFormat = 'jpg' | 'png' | 'webp';

/** The bytes are not an image of the format, or a broken one. */
export class CodecError extends Error {
  override readonly name = 'CodecError';
  readonly code = 'BROKEN_IMAGE';
}

interface Codec<Instance> {
  readonly name: keyof typeof import('./codec-bytes.ts').codecBytes;
  readonly file: string;
  readonly open: () => Promise<{ default: (options: never) => Promise<unknown> }>;
  /** Never set: carries the type only. */
  readonly instance?: Instance;
}

const JPEG_DECODER: Codec<{ decode(bytes: Uint8Array, upright: boolean): Pixels | null }> = {
  name: 'jpegDecoder',
  file: '@jsquash/jpeg/codec/dec/mozjpeg_dec.wasm',
  open: () => import('@jsquash/jpeg/codec/dec/mozjpeg_dec.js'),
};
const WEBP_DECODER: Codec<{ decode(bytes: Uint8Array): Pixels | null }> = {
  name: 'webpDecoder',
  file: '@jsquash/webp/codec/dec/webp_dec.wasm',
  open: () => import('@jsquash/webp/codec/dec/webp_dec.js'),
};
const JPEG_ENCODER: Codec<{
  encode(data: Pixels['data'], width: number, height: number, options: object): Uint8Array;
}> = {
  name: 'jpegEncoder',
  file: '@jsquash/jpeg/codec/enc/mozjpeg_enc.wasm',
  open: () => import('@jsquash/jpeg/codec/enc/mozjpeg_enc.js'),
};

/** Decodes an image, and rotates a JPEG by its EXIF orientation. Throws CodecError with the reason. */
export async function decode(format: ImageFormat, bytes: Uint8Array): Promise<Pixels> {
  if (format === 'png') return decodePng(bytes);
  if (format === 'webp') return withCodec(WEBP_DECODER, (codec) => codec.decode(bytes));
  return withCodec(JPEG_DECODER, (codec) => codec.decode(bytes, true));
}

function decodePng(bytes: Uint8Array): Pixels {
  try {
    return PNG.sync.read(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  } catch (cause) {
    throw new CodecError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** Encodes a progressive JPEG; the same pixels give the same bytes. */
export async function encodeJpeg({ data, width, height }: Pixels, quality: number): Promise<Uint8Array> {
  const { defaultOptions } = await import('@jsquash/jpeg/meta.js');
  const options = { ...defaultOptions, quality };
  return withCodec(JPEG_ENCODER, (codec) => codec.encode(data, width, height, options).slice());
}

const compiled = new Map<string, Promise<WebAssembly.Module>>();

/**
 * Runs a codec in a new instance. Modules are compiled once, but WebAssembly memory only grows, and a decoder that
 * stopped halfway would never free its part.
 */
async function withCodec<Instance, Result>(codec: Codec<Instance>, use: (instance: Instance) => Result | null) {
  const module = compiled.get(codec.file) ?? load(codec).then((bytes) => WebAssembly.compile(bytes));
  compiled.set(codec.file, module);
  const [wasm, { default: open }] = await Promise.all([module, codec.open()]);
  const warnings: string[] = [];
  const options = {
    noInitialRun: true,
    printErr: (line: string) => warnings.push(line),
    instantiateWasm: (imports: WebAssembly.Imports, done: (instance: WebAssembly.Instance) => void) => {
      const instance = new WebAssembly.Instance(wasm, imports);
      done(instance);
      return instance.exports;
    },
  };
  const instance = (await open(options as never)) as Instance;
  const result = attempt(() => use(instance), warnings);
  // The JPEG decoder fills the missing part of a truncated file with grey and only prints a warning.
  if (result === null || warnings.some((line) => /premature end/i.test(line))) throw new CodecError(reason(warnings));
  return result;
}

function attempt<Result>(use: () => Result, warnings: readonly string[]): Result {
  try {
    return use();
  } catch (cause) {
    // The error is a bare `ExitStatus`; the codec printed the reason before.
    throw new CodecError(reason(warnings), { cause });
  }
}

function reason(warnings: readonly string[]): string {
  return warnings.join('; ') || 'the codec stopped without a reason';
}

/** Returns the bytes that a bundle contains. Outside a bundle, Node would link the file as a module, so it is read. */
async function load({ name, file }: Codec<unknown>): Promise<Uint8Array<ArrayBuffer>> {
  const bundled = await import('./codec-bytes.ts').catch(() => undefined);
  return bundled?.codecBytes[name] ?? new Uint8Array(await readFile(createRequire(import.meta.url).resolve(file)));
}
