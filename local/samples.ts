import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import { enqueue } from '../core/jobs/enqueue.ts';
import { isUnused } from '../core/postgres/epoch.ts';
import type { Stack } from './stack.ts';

/** The jobs of a first start, which show a job's whole life within a minute. */
export interface Samples {
  /** Id of the job whose source image appears only after its first failure. */
  readonly late: string;
  /** Puts that image in its place. */
  bringLateImage(): Promise<void>;
}

/**
 * Inserts the sample jobs into a database that never had a job: one of each handler succeeds, one fails and is retried,
 * one dies at its only attempt. Undefined when there is nothing to do, or the project has other handlers.
 */
export async function insertSamples(stack: Stack): Promise<Samples | undefined> {
  const definitionOf = (type: string) => stack.handlers.list().find(({ definition }) => definition.jobType === type);
  const reminder = definitionOf('send_reminder')?.definition;
  const thumbnail = definitionOf('make_thumbnail')?.definition;
  const folder = join(stack.services.filesFolder, 'samples');
  const bringLateImage = () => writeFile(join(folder, 'late.png'), samplePng());
  if (reminder === undefined || thumbnail === undefined) return undefined;
  if (!(await isUnused(stack.db))) {
    // Its job may have failed in a start that ended before it could bring the image.
    if ((await readdir(folder).catch(() => [])).length > 0) await bringLateImage();
    return undefined;
  }
  const base = `${stack.services.files.url}/samples`;
  const images = (name: string) => ({ source: `${base}/${name}.png`, target: `${base}/${name}-small.jpg`, width: 160 });
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'meadow.png'), samplePng());
  await enqueue(stack.db, reminder, {
    to: 'ada@example.com',
    subject: 'It works',
    text: 'This reminder was a row in Postgres, a message in SQS and a run of functions/handlers/send-reminder.ts.',
  });
  await enqueue(stack.db, thumbnail, images('meadow'));
  const late = await enqueue(stack.db, thumbnail, images('late'));
  await enqueue(stack.db, thumbnail, images('missing'), { maxAttempts: 1 });
  return { late: late.id, bringLateImage };
}

const WIDTH = 640;
const HEIGHT = 480;

/** A meadow under a sky, as a PNG of 8-bit RGB. */
function samplePng(): Buffer {
  const rows = Array.from({ length: HEIGHT }, (_, y) => Buffer.concat([Buffer.from([0]), pixels(y)]));
  const header = Buffer.alloc(13);
  header.writeUInt32BE(WIDTH, 0);
  header.writeUInt32BE(HEIGHT, 4);
  header.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.concat(rows))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function pixels(y: number): Buffer {
  const row = Buffer.alloc(WIDTH * 3);
  for (let x = 0; x < WIDTH; x++) {
    const hill = HEIGHT * 0.6 + Math.sin(x / 90) * 40;
    const shade = Math.round((255 * y) / HEIGHT);
    row.set(y < hill ? [120 + shade / 3, 180 + shade / 4, 235] : [60, 160 - shade / 4, 70], x * 3);
  }
  return row;
}

function chunk(type: string, body: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(type, 'latin1'), body]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(body.length, 0);
  frame.writeUInt32BE(crc32(content), 4);
  return Buffer.concat([frame.subarray(0, 4), content, frame.subarray(4)]);
}
