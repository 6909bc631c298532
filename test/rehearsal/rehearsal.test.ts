import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openDeployed } from '../../core/deployed.ts';
import { eventually } from '../support/eventually.ts';
import { disableMapping, removeRedrivePolicy } from './by-hand.ts';
import { type Deployment, prepareDeployment } from './deployment.ts';
import { obedient, unlucky } from './handlers.ts';
import { insertJob, insertJobs, openApi, untilJob, untilRow } from './jobs.ts';

let deployment: Deployment;
let deadJob: string;

beforeAll(async () => {
  deployment = await prepareDeployment();
  await deployment.writeHandler('obedient.ts', obedient(1));
  await deployment.writeHandler('unlucky.ts', unlucky());
});

afterAll(() => deployment?.remove());

it('deploys into an account that was bootstrapped', async () => {
  const bootstrapped = await deployment.bootstrap();
  const deployed = await deployment.deploy();

  expect(bootstrapped.output).toMatch(/✅ {2}Environment aws:\/\/\d+\/us-east-1 bootstrapped/);
  expect(deployed.output).toMatch(/✅ {2}millrace-rehearsal\n/);
  expect(deployed.code).toBe(0);
  expect(await deployment.outputs()).toMatchObject({ ApiUrl: expect.stringMatching(/^https:/) });
});

it('runs a job that was inserted by SQL, and one that came by the API', async () => {
  const bySql = await insertJob(deployment, 'obedient', {});
  const answer = await (await openApi(deployment))('/jobs', { job_type: 'obedient', payload: {} });

  const first = await untilJob(deployment, bySql, { status: 'succeeded' });
  const second = await untilJob(deployment, String(answer.id), { status: 'succeeded' });

  expect([first, second]).toMatchObject(Array(2).fill({ attempts: 1, result: { version: 1 } }));
});

it('reaches the database by TLS alone, as the login of the functions', async () => {
  const connections = await deployment.query(`
    select distinct usename, ssl from pg_stat_ssl join pg_stat_activity using (pid)
      where application_name in ('millrace-dispatcher', 'millrace-handler', 'millrace-api')`);

  expect(connections).toEqual([{ usename: 'rehearsal_functions', ssl: true }]);
});

it('leaves a failed job a time for its next try', async () => {
  const id = await insertJob(deployment, 'unlucky', {});

  const job = await untilJob(deployment, id, { status: 'failed' });

  expect(job).toMatchObject({ attempts: 1, last_error: 'no luck today', next_retry_at: expect.any(Date) });
});

it('has SQS move the message of a dead job to the dead-letter queue, and mirrors it', async () => {
  deadJob = await insertJob(deployment, 'obedient', { until: join(deployment.folder, 'somebody') });

  await untilJob(deployment, deadJob, { status: 'dead_letter' });
  const source = await untilDeadMessage();
  const row = await untilRow(
    deployment,
    'select queue_name, status from millrace.dead_letters where job_id = $1 and message_id is not null',
    [deadJob],
  );

  expect(source).toMatch(/:millrace-rehearsal-obedient$/);
  expect(row).toEqual({ queue_name: 'millrace-rehearsal-obedient-dlq', status: 'open' });
});

it('redrives it by the API', async () => {
  await writeFile(join(deployment.folder, 'somebody'), '');

  await (await openApi(deployment))('/admin/redrives', { id: [deadJob] });

  expect(await untilJob(deployment, deadJob, { status: 'succeeded' })).toMatchObject({ attempts: 1 });
});

it('finds nothing to change in what it has deployed', async () => {
  const { code, output } = await deployment.diff();

  expect(output).toMatch(/There were no differences/);
  expect(code).toBe(0);
});

it('is found to be as the code says, until somebody changes it by hand', async () => {
  const { cloud } = deployment;
  const { ObedientQueue } = await deployment.outputs();

  const before = await deployment.doctor();
  const undo = [
    await removeRedrivePolicy(cloud, ObedientQueue ?? ''),
    await disableMapping(cloud, 'millrace-rehearsal-unlucky'),
  ];
  const changed = await deployment.doctor();
  for (const restore of undo) await restore();
  const restored = await deployment.doctor();

  expect(before.code, before.output).toBe(0);
  expect(changed.code).toBe(8);
  expect(changed.output).toContain(
    'millrace-rehearsal-obedient: the dead-letter queue is not set, the code says millrace-rehearsal-obedient-dlq',
  );
  expect(changed.output).toContain('millrace-rehearsal-unlucky: the mapping is Disabled, the code says Enabled');
  expect(restored.code, restored.output).toBe(0);
});

it('loses no job when a changed handler is deployed in the middle of 1,000', async () => {
  await deployment.writeHandler('obedient.ts', obedient(2));

  const deploying = deployment.deploy();
  const before = await insertJobs(deployment, 'obedient', { ms: 200 }, 500);
  const { code, output } = await deploying;
  await insertJobs(deployment, 'obedient', { ms: 200 }, 500);

  expect(code, output).toBe(0);
  const done = await untilRow(
    deployment,
    `select count(*)::int as jobs, sum(attempts)::int as attempts, count(distinct result -> 'version')::int as versions
       from millrace.jobs where id >= $1 and status = 'succeeded' having count(*) = 1000`,
    [before],
  );
  expect(done).toEqual({ jobs: 1000, attempts: 1000, versions: 2 });
});

it('refuses to remove a handler that has unfinished jobs, and leaves at work what worked', async () => {
  await deployment.removeHandler('unlucky.ts');

  const refused = await deployment.deploy();
  await deployment.writeHandler('unlucky.ts', unlucky());
  const found = await deployment.doctor();
  const id = await insertJob(deployment, 'unlucky', { until: join(deployment.folder, 'somebody') });

  expect(refused.code).toBe(1);
  expect(refused.output).toContain(
    'unlucky has 1 unfinished job: keep its file until they have ended or are cancelled, or deploy with -c ' +
      'drain=unlucky and let them wait for it, as dead letters after 24 hours',
  );
  expect(refused.output).toMatch(/ROLLBACK_COMPLETE/);
  expect(found.code, found.output).toBe(0);
  await untilJob(deployment, id, { status: 'succeeded' });
});

it('removes it when that is meant, and its jobs wait', async () => {
  const deployed = openDeployed({ sqs: deployment.cloud.client, lambda: deployment.cloud.client });
  await deployment.removeHandler('unlucky.ts');

  const { code, output } = await deployment.deploy('--context', 'drain=unlucky');
  const name = 'millrace-rehearsal-unlucky';
  const left = [await deployed.queue(name), await deployed.queue(`${name}-dlq`), await deployed.function(name)];
  deployed.close();

  expect(code, output).toBe(0);
  expect(left).toEqual([undefined, undefined, undefined]);
  expect(await deployment.query('select job_type from millrace.handlers')).toEqual([{ job_type: 'obedient' }]);
  expect(await deployment.query(`select status from millrace.jobs where job_type = 'unlucky' and slot = 0`)).toEqual([
    { status: 'failed' },
  ]);
});

it('can be deployed again after it was destroyed', async () => {
  const destroyed = await deployment.destroy();
  const deployed = await deployment.deploy();
  const id = await insertJob(deployment, 'obedient', {});

  expect(destroyed.output).toMatch(/✅ {2}millrace-rehearsal: destroyed/);
  expect(deployed.code, deployed.output).toBe(0);
  expect(await untilJob(deployment, id, { status: 'succeeded' })).toMatchObject({ result: { version: 2 } });
});

/** Where the message came from; it is visible to others again at once. */
async function untilDeadMessage(): Promise<string | undefined> {
  const client = new SQSClient(deployment.cloud.client);
  const { ObedientDeadLetterQueue } = await deployment.outputs();
  const question = { QueueUrl: ObedientDeadLetterQueue, VisibilityTimeout: 0, MessageSystemAttributeNames: ['All'] };
  const message = await eventually(
    async () => {
      const { Messages = [] } = await client.send(new ReceiveMessageCommand(question as never));
      expect(Messages).toHaveLength(1);
      return Messages[0];
    },
    { timeout: 60_000, interval: 500 },
  );
  client.destroy();
  return message?.Attributes?.DeadLetterQueueSourceArn;
}
