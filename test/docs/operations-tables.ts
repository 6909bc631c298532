import { SendMessageCommand } from '@aws-sdk/client-sqs';
import pg from 'pg';
import { expect } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { enableMapping, openSqs } from '../support/stack-doors.ts';
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

const FOREIGN = 'message from a later claim or another database';

const messageUnexpected: Scene = {
  async provoke(terminal) {
    const { stack } = terminal;
    const id = await remindLater(terminal);
    const { queue } = await queuesOf(terminal, 'send_reminder');
    const body = JSON.stringify({ v: 1, epoch: '000000000000', job: id, claim: '1' });
    const sqs = openSqs(stack);
    await sqs.send(new SendMessageCommand({ QueueUrl: queue, MessageBody: body }));
    sqs.destroy();
    await eventually(() => expect(stack.output()).toMatch(`unexpected message`), PATIENCE);
    return { 42: id };
  },
  relieve: async ({ stack }) => expect(stack.output()).toContain(FOREIGN),
};

/** A restored database whose job is still in SQS. No dispatcher runs, as the page requires before the first start. */
const restored: Scene = {
  async provoke(terminal) {
    await enableMapping(terminal.stack, 'send_reminder', false);
    const id = await remind(terminal);
    await until(terminal, id, 'dispatched');
    await silenceDispatcher(terminal);
    return { 42: id };
  },
  async relieve(terminal, { 42: id = '' }) {
    const { stack } = terminal;
    const before = stack.output().split(FOREIGN).length;
    await enableMapping(stack, 'send_reminder', true);
    await eventually(() => expect(stack.output().split(FOREIGN).length).toBe(before + 1), PATIENCE);
    await stack.query("update millrace.jobs_live set lease_expires_at = now() - interval '1 s' where id = $1", [id]);
    await wakeDispatcher(terminal);
    await until(terminal, id, 'succeeded');
  },
};

let forgotten: pg.Client | undefined;

const pinned: Scene = {
  async provoke(terminal) {
    const { databaseUrl } = terminal.stack.state;
    forgotten = new pg.Client({ connectionString: databaseUrl, application_name: 'forgotten' });
    await forgotten.connect();
    await forgotten.query('begin; select pg_current_xact_id()');
    await until(terminal, await remind(terminal), 'succeeded');
    // Without the lock, the upkeep may add the count at any moment before the page reads it.
    await forgotten.query('lock table millrace.job_event_totals in share mode');
    await remindLater(terminal);
    return {};
  },
  relieve: async () => forgotten?.end(),
};

interface Migration {
  readonly version: string;
}
let applied: Migration | undefined;

const olderSchema: Scene = {
  async provoke({ stack }) {
    const last = 'delete from millrace.migrations where name = (select max(name) from millrace.migrations) returning *';
    [applied] = await stack.query<Migration & pg.QueryResultRow>(last);
    return {};
  },
  relieve: async ({ stack }) => {
    const text = 'insert into millrace.migrations select * from json_populate_record(null::millrace.migrations, $1)';
    await stack.query(text, [JSON.stringify(applied)]);
  },
};

/** Symptoms of the database, and of messages from another database. */
export const databaseScenes: Readonly<Record<string, Scene>> = {
  'The log contains `message_unexpected`': messageUnexpected,
  'The database was restored or cloned': restored,
  'The database grows, or counting lags': pinned,
  'The schema does not match the release': olderSchema,
};
