import { crc32, deflateSync } from 'node:zlib';

/** Returns a PNG chunk. */
function chunk(type: string, body: Uint8Array): Buffer {
  const content = Buffer.concat([Buffer.from(type, 'latin1'), body]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(body.length, 0);
  frame.writeUInt32BE(crc32(content), 4);
  return Buffer.concat([frame.subarray(0, 4), content, frame.subarray(4)]);
}

/** Splits a PNG into its chunks. */
export function chunksOf(png: Buffer): { type: string; body: Buffer }[] {
  const chunks = [];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    chunks.push({ type: png.toString('latin1', at + 4, at + 8), body: png.subarray(at + 8, at + 8 + length) });
    at += 12 + length;
  }
  return chunks;
}

export function toPng(chunks: readonly { type: string; body: Uint8Array }[]): Buffer {
  return Buffer.concat([SIGNATURE, ...chunks.map(({ type, body }) => chunk(type, body))]);
}

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

/** Returns the body of an IHDR chunk for 8-bit RGB. */
function header(width: number, height: number, interlaced = false): Buffer {
  const body = Buffer.from([...Array(8).fill(0), 8, 2, 0, 0, Number(interlaced)]);
  body.writeUInt32BE(width, 0);
  body.writeUInt32BE(height, 4);
  return body;
}

/** Returns a PNG whose second header declares gigapixels. */
export function twoHeaders(): Buffer {
  return toPng([
    { type: 'IHDR', body: header(1, 1) },
    { type: 'IHDR', body: header(30_000, 30_000) },
    { type: 'IDAT', body: deflateSync(Buffer.alloc(4)) },
    { type: 'IEND', body: Buffer.alloc(0) },
  ]);
}

/** Makes a PNG animated: its own image is the first frame, and `second` is the second frame. */
export function animate(first: Buffer, second: Buffer): Buffer {
  const [ihdr, ...rest] = chunksOf(first);
  const data = (png: Buffer) =>
    Buffer.concat(chunksOf(png).flatMap(({ type, body }) => (type === 'IDAT' ? [body] : [])));
  const control = (sequence: number) => {
    const body = Buffer.alloc(26);
    body.writeUInt32BE(sequence, 0);
    ihdr!.body.copy(body, 4, 0, 8);
    body.writeUInt16BE(1, 20);
    body.writeUInt16BE(10, 22);
    return { type: 'fcTL', body };
  };
  return toPng([
    ihdr!,
    { type: 'acTL', body: Buffer.from([0, 0, 0, 2, 0, 0, 0, 0]) },
    control(0),
    ...rest.filter(({ type }) => type === 'IDAT'),
    control(1),
    { type: 'fdAT', body: Buffer.concat([Buffer.from([0, 0, 0, 2]), data(second)]) },
    { type: 'IEND', body: Buffer.alloc(0) },
  ]);
}

/** Appends bytes to the data of a PNG, after the end of its zlib stream. */
export function withMoreData(png: Buffer, more: Uint8Array): Buffer {
  const chunks = chunksOf(png);
  const last = chunks.findLastIndex(({ type }) => type === 'IDAT');
  return toPng(chunks.with(last, { type: 'IDAT', body: Buffer.concat([chunks[last]!.body, more]) }));
}

/** Inserts bytes before the second marker of a JPEG: fill bytes, or a segment. */
export function afterStart(jpeg: Buffer, inserted: Uint8Array): Buffer {
  return Buffer.concat([jpeg.subarray(0, 2), inserted, jpeg.subarray(2)]);
}

/** Replaces the property of an AVIF that contains the bits per channel with a clockwise rotation of 90 degrees. */
export function rotated(avif: Buffer): Buffer {
  const changed = Buffer.from(avif);
  const at = changed.indexOf('pixi');
  changed.write('irot', at, 'latin1');
  changed[at + 4] = 3;
  return changed;
}
