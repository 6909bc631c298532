import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DeleteQueueCommand } from '@aws-sdk/client-sqs';
import { expect } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { enableMapping, insertJob, openSqs } from '../support/stack-doors.ts';
import {
  PATIENCE,
  queuesOf,
  remind,
  remindLater,
  type Scene,
  silenceDispatcher,
  until,
  wakeDispatcher,
} from './operations-scene.ts';
import type { Terminal } from './terminal.ts';

/** A handler whose jobs run until the test creates a file. */
export const BUILD_REPORT = `
import { existsSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import * as z from 'zod';
import { defineHandler } from '../../core/index.ts';

export default defineHandler({
  jobType: 'build_report',
  payload: z.object({ door: z.string() }),
  timeout: '60s',
  concurrency: 2,
  batch: { size: 1 },
  maxInFlight: 2,
  async run({ payload, signal }) {
    while (!existsSync(payload.door)) await wait(50, undefined, { signal });
  },
});
`;

/** A handler whose queue the test deletes. */
export const OLD_REPORT = `
import * as z from 'zod';
import { defineHandler } from '../../core/index.ts';

export default defineHandler({ jobType: 'old_report', payload: z.object({}), run: async () => undefined });
`;

export function newDoor({ project }: Terminal): string {
  return join(project.folder, `door-${randomUUID()}`);
}

export const openDoor = (door: string): Promise<void> => writeFile(door, '');

async function setPause({ stack }: Terminal, verb: 'pause' | 'resume'): Promise<void> {
  const answer = await fetch(`${stack.state.apiUrl}/admin/handlers/send_reminder/${verb}`, { method: 'PUT' });
  expect(answer.status).toBe(200);
}

const jobsAreLate: Scene = {
  async provoke(terminal) {
    const door = newDoor(terminal);
    const ids = [];
    for (const _ of Array(3)) ids.push(await insertJob(terminal.stack, 'build_report', { door }));
    const [first, second, third] = ids as [string, string, string];
    await Promise.all([until(terminal, first, 'running'), until(terminal, second, 'running')]);
    return { 42: third, door };
  },
  async relieve(terminal, { 42: id = '', door = '' }) {
    await openDoor(door);
    await until(terminal, id, 'succeeded');
  },
};

const waitInSqs: Scene = {
  async provoke(terminal) {
    await enableMapping(terminal.stack, 'send_reminder', false);
    const id = await remind(terminal);
    await until(terminal, id, 'dispatched');
    return { 42: id };
  },
  async relieve(terminal, { 42: id = '' }) {
    await enableMapping(terminal.stack, 'send_reminder', true);
    await until(terminal, id, 'succeeded');
  },
};

const queueMissing: Scene = {
  async provoke(terminal) {
    const { stack } = terminal;
    const { queue } = await queuesOf(terminal, 'old_report');
    const sqs = openSqs(stack);
    await sqs.send(new DeleteQueueCommand({ QueueUrl: queue }));
    sqs.destroy();
    const id = await insertJob(stack, 'old_report', {});
    await eventually(async () => {
      const held = "select from millrace.handlers where job_type = 'old_report' and held_until > now()";
      expect(await stack.query(held), stack.output()).toHaveLength(1);
    }, PATIENCE);
    return { 42: id };
  },
  relieve: ({ project }) => project.removeHandler('old-report.ts'),
};

export const lateScenes: Readonly<Record<string, Scene>> = {
  'Nothing runs': {
    async provoke(terminal) {
      await silenceDispatcher(terminal);
      return { 42: await remind(terminal) };
    },
    async relieve(terminal, { 42: id = '' }) {
      await wakeDispatcher(terminal);
      await until(terminal, id, 'succeeded');
    },
  },
  'Jobs are late': jobsAreLate,
  'Jobs wait in SQS': waitInSqs,
  'A handler is paused': {
    async provoke(terminal) {
      await setPause(terminal, 'pause');
      return { 42: await remind(terminal) };
    },
    relieve: (terminal, { 42: id = '' }) => until(terminal, id, 'succeeded'),
  },
  'Pause a handler': {
    provoke: async (terminal) => ({ 42: await remindLater(terminal) }),
    relieve: (terminal) => setPause(terminal, 'resume'),
  },
  'A queue is missing': queueMissing,
  'No handler for a job': {
    provoke: async ({ stack }) => ({ 42: await insertJob(stack, 'send_remainder', {}) }),
    relieve: (terminal, { 42: id = '' }) => until(terminal, id, 'cancelled'),
  },
};
