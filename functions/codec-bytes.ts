import jpegDecoder from '@jsquash/jpeg/codec/dec/mozjpeg_dec.wasm';
import jpegEncoder from '@jsquash/jpeg/codec/enc/mozjpeg_enc.wasm';
import webpDecoder from '@jsquash/webp/codec/dec/webp_dec.wasm';

/**
 * The codecs as they lie in a bundle. The imports have to be static ones: of a file that is imported by `import()`
 * esbuild copies every byte as a property of a module object, which takes 0.3 s and 90 MB.
 */
export const codecBytes = { jpegDecoder, jpegEncoder, webpDecoder };
