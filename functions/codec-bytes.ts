import jpegDecoder from '@jsquash/jpeg/codec/dec/mozjpeg_dec.wasm';
import jpegEncoder from '@jsquash/jpeg/codec/enc/mozjpeg_enc.wasm';
import webpDecoder from '@jsquash/webp/codec/dec/webp_dec.wasm';

/**
 * The codecs inside a bundle. The imports must be static: for a file in `import()`, esbuild copies every byte as a
 * property of a module object, which takes 0.3 s and 90 MB.
 */
export const codecBytes = { jpegDecoder, jpegEncoder, webpDecoder };
