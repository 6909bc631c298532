export type ImageFormat = 'JPEG' | 'PNG' | 'WebP' | 'GIF' | 'AVIF';

/** Number of bytes that are read to recognise a file: an AVIF lists its brands in its first box. */
const HEAD_BYTES = 256;

const FIRST_BYTES: Readonly<Record<ImageFormat, RegExp>> = {
  JPEG: /^\xff\xd8\xff/,
  PNG: /^\x89PNG\r\n\cZ\n/,
  WebP: /^RIFF.{4}WEBP/s,
  GIF: /^GIF8[79]a/,
  // The first box contains its length, its type, the major brand, a version, and any number of compatible brands.
  AVIF: /^.{4}ftyp(?:.{4}.{4}(?:.{4})*)?avi[fs]/s,
};

/** Returns the format of an image, determined from its first bytes; undefined for any other file. */
export function formatOf(file: Uint8Array): ImageFormat | undefined {
  const head = Buffer.from(file.buffer, file.byteOffset, Math.min(file.byteLength, HEAD_BYTES));
  // HEIC has the same first box with other brands, and its later boxes may contain any text.
  const boxed = head.length > 8 && head.toString('latin1', 4, 8) === 'ftyp';
  const text = head.toString('latin1', 0, boxed ? Math.min(head.readUInt32BE(), head.length) : head.length);
  const formats = Object.keys(FIRST_BYTES) as ImageFormat[];
  return formats.find((format) => FIRST_BYTES[format].test(text));
}
