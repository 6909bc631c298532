import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { decodeMessage } from '../../../core/aws/message.ts';
import { openQueues } from '../../../core/aws/queues.ts';
import { dispatch } from '../../../core/dispatch/dispatch.ts';
import { deploy, insertJobs, openEngine, shiftClock } from '../../support/runtime-engine.ts';

const engine = await openEngine();
const { pool, db, log } = engine;

type Fate = 'sent' | 'receiver' | 'sender';
interface Entry {
  Id: string;
  MessageBody: string;
}

/** The response of SQS for each job, and every requested job in order. */
let fateOf: (jobId: string) => Fate = () => 'sent';
const asked: string[] = [];
const server = createServer((request, response) => {
  let body = '';
  request.on('data', (chunk) => {
    body += chunk;
  });
  request.on('end', () => {
    const entries = (JSON.parse(body) as { Entries: Entry[] }).Entries.map((entry) => {
      const { jobId } = decodeMessage(entry.MessageBody)!;
      asked.push(jobId);
      return { ...entry, fate: fateOf(jobId) };
    });
    const Successful = entries
      .filter(({ fate }) => fate === 'sent')
      .map(({ Id, MessageBody }) => {
        return { Id, MessageId: Id, MD5OfMessageBody: createHash('md5').update(MessageBody).digest('hex') };
      });
    const Failed = entries
      .filter(({ fate }) => fate !== 'sent')
      .map(({ Id, fate }) => ({ Id, SenderFault: fate === 'sender', Code: 'InvalidMessage', Message: 'so be it' }));
    response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' });
    response.end(JSON.stringify({ Successful, Failed }));
  });
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const environment = { AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' };
for (const [name, value] of Object.entries({ ...environment, AWS_ENDPOINT_URL_SQS: endpoint })) vi.stubEnv(name, value);
const queues = openQueues();
afterAll(async () => {
  queues.close();
  server.closeAllConnections();
  server.close();
  await engine.close();
  vi.unstubAllEnvs();
});

beforeEach(async () => {
  await pool.query(
    'delete from millrace.jobs_live; delete from millrace.dispatches; delete from millrace.dead_letters',
  );
  await shiftClock(pool, 0);
  await deploy(db, { jobType: 'mail' });
  await pool.query('update millrace.handlers set queue_url = $1', [`${endpoint}/000000000000/mail`]);
  asked.length = 0;
});

const run = () => dispatch({ db, queues, log, random: () => 1 }, 1000);
const jobs = async () =>
  (await pool.query('select id, status, last_error, attempts from millrace.jobs_live order by id')).rows;

describe('CLM-05', () => {
  it('only a refused entry is sent again, and a rejected one becomes a dead letter with the reason', async () => {
    const ids = await insertJobs(pool, 'mail', 10);
    fateOf = (id) => (id === ids[8] ? 'receiver' : id === ids[9] ? 'sender' : 'sent');

    const first = await run();
    fateOf = () => 'sent';
    const atOnce = await run();
    await shiftClock(pool, 6);
    const second = await run();

    const { rows } = await pool.query('select sent_count, refused_count from millrace.dispatches order by claim_no');
    expect([first.sent, atOnce.claimed, second.sent]).toEqual([8, 0, 1]);
    expect(rows).toEqual([
      { sent_count: 8, refused_count: 2 },
      { sent_count: 1, refused_count: 0 },
    ]);
    expect(asked).toEqual([...ids, ids[8]]);
    expect((await jobs()).slice(8)).toEqual([
      { id: ids[8], status: 'dispatched', last_error: null, attempts: 0 },
      {
        id: ids[9],
        status: 'dead_letter',
        last_error: 'SQS refused the message: InvalidMessage: so be it',
        attempts: 0,
      },
    ]);
  });

  it('every mix of responses over any number of batches applies to each job once', async () => {
    const fate = fc.constantFrom<Fate>('sent', 'sent', 'receiver', 'sender');
    await fc.assert(
      fc.asyncProperty(fc.array(fate, { minLength: 1, maxLength: 35 }), async (fates) => {
        await pool.query(`delete from millrace.jobs_live; delete from millrace.dead_letters;
          update millrace.handlers set held_until = null, refusals = 0`);
        asked.length = 0;
        const ids = await insertJobs(pool, 'mail', fates.length);
        fateOf = (id) => fates[ids.indexOf(id)]!;

        const { sent } = await run();

        const expected = { sent: 'dispatched', receiver: 'pending', sender: 'dead_letter' };
        expect((await jobs()).map(({ status }) => status)).toEqual(fates.map((one) => expected[one]));
        expect(sent).toBe(fates.filter((one) => one === 'sent').length);
        expect(asked.toSorted()).toEqual(ids.toSorted());
      }),
      { numRuns: 15 },
    );
  });
});
