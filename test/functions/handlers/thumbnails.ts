import { PNG } from 'pngjs';
import makeThumbnail from '../../../functions/handlers/make-thumbnail.ts';
import type { Pixels } from '../../../functions/shrink.ts';
import type { FileServer } from './file-server.ts';
import { runHandler } from './run-handler.ts';

/** Runs one attempt of `make_thumbnail`, by default from `/in` to `/out` of this server. */
export function run(web: FileServer, payload: object = {}, signal = new AbortController().signal) {
  const defaults = { source: `${web.origin}/in`, target: `${web.origin}/out`, width: 32 };
  return runHandler(makeThumbnail, { payload: { ...defaults, ...payload }, signal });
}

/** Returns an image whose left half is red and whose right half is blue. */
export function halves(width: number, height: number): Pixels {
  const data = new Uint8Array(width * height * 4);
  for (let i = 0; i < data.length; i += 4)
    data.set((i / 4) % width < width / 2 ? [255, 0, 0, 255] : [0, 0, 255, 255], i);
  return { data, width, height };
}

export function png(image: Pixels): Uint8Array {
  return PNG.sync.write(Object.assign(new PNG(image), { data: Buffer.from(image.data) }));
}

/** Adds the EXIF orientation of a camera held on its side: rotate by 90 degrees clockwise. */
export function turned(jpeg: Uint8Array): Uint8Array {
  const exif = Buffer.from('ffe1002245786966000049492a000800000001001201030001000000060000000000000000', 'hex');
  exif.writeUInt16BE(exif.length - 2, 2);
  return Buffer.concat([jpeg.subarray(0, 2), exif, jpeg.subarray(2)]);
}
