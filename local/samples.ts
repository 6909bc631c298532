import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import { insertJob } from '../core/enqueue/insert-jobs.ts';
import type { HandlerAddress } from '../core/handler/naming.ts';
import { isUnused } from '../core/postgres/epoch.ts';
import type { Stack } from './stack.ts';

/** The jobs inserted by the first start: they show the life of a job within a minute. */
export interface Samples {
  /** Id of the job whose source image is created only after the job's first failure. */
  readonly late: string;
  /** Creates that image. */
  createLateImage(): Promise<void>;
}

/**
 * Inserts the sample jobs into a database that never had a job: one job of each handler succeeds, one fails and is
 * retried, one becomes a dead letter at its only attempt. Undefined if the database had jobs before, or the project
 * lacks a sample handler.
 */
export async function insertSamples(stack: Stack): Promise<Samples | undefined> {
  const definitionOf = (type: string) => stack.handlers.list().find(({ definition }) => definition.jobType === type);
  const reminder = definitionOf('send_reminder')?.definition;
  const thumbnail = definitionOf('make_thumbnail')?.definition;
  const folder = join(stack.services.filesFolder, 'samples');
  const createLateImage = () => writeFile(join(folder, 'late.png'), samplePng());
  if (reminder === undefined || thumbnail === undefined) return undefined;
  if (!(await isUnused(stack.db))) {
    // An earlier start may have stopped after the job failed and before it created the image.
    if ((await readdir(folder).catch(() => [])).length > 0) await createLateImage();
    return undefined;
  }
  const base = `${stack.services.files.url}/samples`;
  const images = (name: string) => ({ source: `${base}/${name}.png`, target: `${base}/${name}-small.jpg`, width: 160 });
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'meadow.png'), samplePng());
  // Without a check of the payloads: this process does not import the handlers, and they may have been changed.
  const insert = ({ jobType, routingKey }: HandlerAddress, payload: object, options = {}) =>
    insertJob(stack.db, { ...options, jobType, routingKey, payload: JSON.stringify(payload) });
  await insert(reminder, {
    to: 'ada@example.com',
    subject: 'It works',
    text: 'This reminder was a row in Postgres, a message in SQS and a run of functions/handlers/send-reminder.ts.',
  });
  await insert(thumbnail, images('meadow'));
  const late = await insert(thumbnail, images('late'));
  await insert(thumbnail, images('missing'), { maxAttempts: 1 });
  return { late: late.id, createLateImage };
}

const WIDTH = 640;
const HEIGHT = 480;

/** Returns a PNG in 8-bit RGB: a meadow under a sky. */
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
