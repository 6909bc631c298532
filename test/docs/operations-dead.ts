import { PurgeQueueCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { expect } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { countDeadMessages } from '../support/move-tasks.ts';
import { insertJob, mirrorNow, openSqs } from '../support/stack-doors.ts';
import { PATIENCE, queuesOf, remind, type Scene, tidy, until } from './operations-scene.ts';
import type { Terminal } from './terminal.ts';

const MANY = 40;

/** Enqueues reminders that die because the mailbox is stopped; returns their ids. */
async function killReminders(terminal: Terminal, most: number): Promise<string[]> {
  await terminal.type('npx millrace mail stop');
  const ids = [];
  for (const _ of Array(most)) ids.push(await remind(terminal, 1));
  for (const id of ids) await until(terminal, id, 'dead_letter');
  return ids;
}

const deadLetterQueueOf = async (terminal: Terminal): Promise<string> =>
  (await queuesOf(terminal, 'send_reminder')).dead;

/** Waits until the mirror has recorded this number of messages in the dead-letter queue. */
async function untilMirrored(terminal: Terminal, depth: number): Promise<void> {
  const url = await deadLetterQueueOf(terminal);
  await eventually(async () => {
    await mirrorNow(terminal.stack);
    const seen = 'select depth::integer from millrace.dead_letter_queues where queue_url = $1';
    expect(await terminal.stack.query(seen, [url])).toEqual([{ depth }]);
    expect(await countDeadMessages(terminal.stack, 'send_reminder')).toBe(depth);
  }, PATIENCE);
}

const manyDead: Scene = {
  async provoke(terminal) {
    const [id = ''] = await killReminders(terminal, MANY);
    const other = await insertJob(terminal.stack, 'make_thumbnail', {});
    await until(terminal, other, 'dead_letter');
    const [letter] = await terminal.stack.query<{ fingerprint: string }>(
      'select fingerprint from millrace.dead_letters where job_id = $1',
      [id],
    );
    return { 42: id, '7f3ac01b': letter?.fingerprint.slice(0, 8) ?? '' };
  },
  async relieve({ stack }) {
    await eventually(async () => {
      const text = `select status, count(*)::integer from millrace.jobs
        where job_type = 'send_reminder' and max_attempts = 1 group by 1 order by 1`;
      const rows = await stack.query(text);
      expect(rows, stack.output()).toEqual([
        { status: 'dead_letter', count: MANY / 2 },
        { status: 'succeeded', count: MANY / 2 },
      ]);
    }, PATIENCE);
  },
};

const runawayRedrive: Scene = {
  async provoke(terminal) {
    const ids = await killReminders(terminal, 3);
    const [row] = await terminal.stack.query<{ id: string }>('select millrace.start_redrive($1, 0.01)::text as id', [
      { job_ids: ids.map(Number) },
    ]);
    const id = row?.id ?? '';
    return { 'redrives show 1': `redrives show ${id}`, 'redrives cancel 1': `redrives cancel ${id}` };
  },
  relieve: tidy,
};

const otherNumber: Scene = {
  async provoke(terminal) {
    await untilMirrored(terminal, 0);
    const [id = ''] = await killReminders(terminal, 1);
    await untilMirrored(terminal, 1);
    const sqs = openSqs(terminal.stack);
    await sqs.send(new PurgeQueueCommand({ QueueUrl: await deadLetterQueueOf(terminal) }));
    sqs.destroy();
    await untilMirrored(terminal, 0);
    return { 42: id };
  },
  relieve: tidy,
};

const stray: Scene = {
  async provoke(terminal) {
    const sqs = openSqs(terminal.stack);
    await sqs.send(new SendMessageCommand({ QueueUrl: await deadLetterQueueOf(terminal), MessageBody: 'hello' }));
    sqs.destroy();
    return eventually(async () => {
      await mirrorNow(terminal.stack);
      const [row] = await terminal.stack.query<{ id: string }>(
        "select id::text from millrace.dead_letters where job_id is null and status = 'open'",
      );
      expect(row).toBeDefined();
      return { 'stray 7': `stray ${row?.id}` };
    }, PATIENCE);
  },
  relieve: (terminal) => untilMirrored(terminal, 0),
};

/** Symptoms of dead letters. */
export const deadScenes: Readonly<Record<string, Scene>> = {
  'Many dead letters': manyDead,
  'Stop a redrive': runawayRedrive,
  'The DLQ and the table show different numbers': otherNumber,
  'The DLQ contains a message without a job': stray,
};
