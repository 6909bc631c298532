import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { countDeadMessages, redriveBySqs } from '../support/move-tasks.ts';
import { makeProject, type Project, type RunningStack, startUp } from '../support/project.ts';
import { findDeadMessage, insertJob, mirrorNow, readDeadLetters, readJob, untilJob } from '../support/stack-doors.ts';
import { handlerSource } from './sources.ts';

/** More than one receive returns. */
const JOBS = 12;
const PATIENCE_MS = 600_000;
/** Fails until the file exists, and then appends a line to it. */
const BODY = `
    const { appendFile, stat } = await import('node:fs/promises');
    await stat(payload.file);
    await appendFile(payload.file, jobId + '\\n');`;

let project: Project;
let stack: RunningStack;
let file: string;
let ids: string[];

beforeAll(async () => {
  project = await makeProject({ 'fragile.ts': handlerSource('fragile', BODY, 'maxAttempts: 1,') });
  file = join(project.folder, 'mended');
  stack = await startUp(project, ['--fast-retries']);
});

afterAll(() => project.remove());

it(
  'jobs die after their only attempt, each with its message in the dead-letter queue',
  async () => {
    ids = await Promise.all(Array.from({ length: JOBS }, () => insertJob(stack, 'fragile', { file })));

    await untilAllDead(1);

    const { Attributes } = await findDeadMessage(stack, 'fragile', ids[0] as string);
    expect(Attributes?.DeadLetterQueueSourceArn).toMatch(/:millrace-local-fragile$/);
  },
  PATIENCE_MS,
);

it(
  'the mirror sees every dead letter and leaves the messages in the queue',
  async () => {
    await mirrorNow(stack);

    const [row] = await stack.query<{ seen: number }>(
      `select count(last_seen_at)::integer as seen from millrace.dead_letters where status = 'open'`,
    );
    expect(row?.seen).toBe(JOBS);
    expect(await countDeadMessages(stack, 'fragile')).toBe(JOBS);
    expect(stack.output()).toMatch(new RegExp(`fragile-dlq +holds ${JOBS} dead letters\n`));
  },
  PATIENCE_MS,
);

it(
  'a move task before the cause is fixed runs every job again, and their messages return when the jobs die again',
  async () => {
    const moved = await redriveBySqs(stack, 'fragile');

    await untilAllDead(2);

    expect(moved).toBe(JOBS);
    for (const id of ids) {
      const letters = await readDeadLetters(stack, id);
      expect(letters).toMatchObject([{ status: 'redriven' }, { status: 'open' }]);
    }
  },
  PATIENCE_MS,
);

it(
  'a move task after the cause is fixed runs every job once, with fresh attempts',
  async () => {
    await writeFile(file, '', { mode: 0o666 });

    await redriveBySqs(stack, 'fragile');

    for (const id of ids) await untilJob(stack, id, { status: 'succeeded', attempts: 1 });
    await expectOneEffectEach();
  },
  PATIENCE_MS,
);

it(
  'redriving succeeded jobs, by a move task or in SQL, changes nothing',
  async () => {
    const before = await Promise.all(ids.map((id) => readJob(stack, id)));

    const moved = await redriveBySqs(stack, 'fragile');
    for (const id of ids) await stack.query('select millrace.retry($1)', [id]);

    const later = await insertJob(stack, 'fragile', { file });
    ids.push(later);
    await untilJob(stack, later, { status: 'succeeded' });
    expect(moved).toBe(0);
    expect(await Promise.all(ids.slice(0, JOBS).map((id) => readJob(stack, id)))).toEqual(before);
    await expectOneEffectEach();
  },
  PATIENCE_MS,
);

async function untilAllDead(times: number): Promise<void> {
  for (const id of ids) {
    await untilJob(stack, id, { status: 'dead_letter', attempts: 1 });
    await eventually(async () => expect(await readDeadLetters(stack, id)).toHaveLength(times));
  }
  await eventually(async () => expect(await countDeadMessages(stack, 'fragile'), stack.output()).toBe(JOBS), {
    timeout: 60_000,
  });
}

async function expectOneEffectEach(): Promise<void> {
  const effects = (await readFile(file, 'utf8')).trim().split('\n');
  expect(effects.sort()).toEqual([...ids].sort());
}
