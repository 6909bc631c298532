import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { changedAt, listLeftovers } from './account.ts';
import { ROLLED_BACK } from './commands.ts';
import { testFaultyDatabases, testMove } from './databases.ts';
import { dieYesterday, sweepNow, untilDeadMessage } from './dead-letters.ts';
import { type Deployment, prepareDeployment } from './deployment.ts';
import { failing, recording } from './handlers.ts';
import { countInFlight, insertJob, insertJobs, openApi, postJob, untilJob, untilRow } from './jobs.ts';
import { disableMapping, invoke, removeRedrivePolicy } from './operator.ts';

let deployment: Deployment;
let deadJob: string;

beforeAll(async () => {
  deployment = await prepareDeployment();
  await deployment.writeHandler('recording.ts', recording(1));
  await deployment.writeHandler('failing.ts', failing());
});

afterAll(() => deployment?.remove());

it('deploys into a bootstrapped account', async () => {
  const bootstrapped = await deployment.bootstrap();
  const deployed = await deployment.deploy();

  expect(bootstrapped.output).toMatch(/✅ {2}Environment aws:\/\/\d+\/us-east-1 bootstrapped/);
  expect(deployed.output).toMatch(/✅ {2}millrace-rehearsal\n/);
  expect(deployed.code).toBe(0);
  expect(await deployment.outputs()).toMatchObject({ ApiUrl: expect.stringMatching(/^https:/) });
});

it('runs a job from SQL and a job from the API', async () => {
  const bySql = await insertJob(deployment, 'recording', {});
  const byApi = await postJob(deployment, 'recording', {});

  const first = await untilJob(deployment, bySql, { status: 'succeeded' });
  const second = await untilJob(deployment, byApi, { status: 'succeeded' });

  expect([first, second]).toMatchObject(Array(2).fill({ attempts: 1, result: { version: 1 } }));
});

it('connects to the database with TLS only, with the login of the functions', async () => {
  const connections = await deployment.query(`
    select distinct usename, ssl from pg_stat_ssl join pg_stat_activity using (pid)
      where application_name in ('millrace-dispatcher', 'millrace-handler', 'millrace-api')`);

  expect(connections).toEqual([{ usename: 'rehearsal_functions', ssl: true }]);
});

it('gives a failed job a time for its next attempt', async () => {
  const id = await postJob(deployment, 'failing', {});

  const job = await untilJob(deployment, id, { status: 'failed' });

  expect(job).toMatchObject({ attempts: 1, last_error: 'the file is missing', next_retry_at: expect.any(Date) });
});

it('makes a job a dead letter in its first attempt when the handler throws DeadLetter', async () => {
  deadJob = await postJob(deployment, 'recording', { until: join(deployment.folder, 'present') });

  await untilJob(deployment, deadJob, { status: 'dead_letter', attempts: 1 });
});

testFaultyDatabases(() => deployment);

it('shows no differences after a deployment', async () => {
  const { code, output } = await deployment.diff();

  expect(output).toMatch(/There were no differences/);
  expect(code).toBe(0);
});

it('mirrors the message of a dead job, which SQS moved to the dead-letter queue', async () => {
  const source = await untilDeadMessage(deployment);
  const row = await untilRow(
    deployment,
    'select queue_name, status from millrace.dead_letters where job_id = $1 and message_id is not null',
    [deadJob],
  );

  expect(source).toMatch(/:millrace-rehearsal-recording$/);
  expect(row).toEqual({ queue_name: 'millrace-rehearsal-recording-dlq', status: 'open' });
});

it('redrives the dead letter with the API', async () => {
  await writeFile(join(deployment.folder, 'present'), '');

  await (await openApi(deployment))('/admin/redrives', { id: [deadJob] });

  expect(await untilJob(deployment, deadJob, { status: 'succeeded' })).toMatchObject({ attempts: 1 });
});

testMove(() => deployment);

it('doctor finds no difference until an operator changes the deployment', async () => {
  const { cloud } = deployment;

  const before = await deployment.doctor();
  const restorePolicy = await removeRedrivePolicy(cloud, 'millrace-rehearsal-recording');
  const restoreMapping = await disableMapping(cloud, 'millrace-rehearsal-failing');
  await deployment.query(`delete from millrace.handlers where job_type = 'failing'`);
  const changed = await deployment.doctor();
  await Promise.all([restorePolicy(), restoreMapping(), invoke(cloud, 'millrace-rehearsal-registry')]);
  const restored = await deployment.doctor();

  expect(before.code, before.output).toBe(0);
  expect(changed.code).toBe(8);
  expect(changed.output).toContain('millrace-rehearsal-recording: the dead-letter queue is not set, but millrace-');
  expect(changed.output).toContain('millrace-rehearsal-failing: the mapping is Disabled, but Enabled in the code');
  expect(changed.output).toContain('failing is in the code but not registered');
  expect(restored.code, restored.output).toBe(0);
});

it('loses no job when a changed handler is deployed while 1,000 jobs run', async () => {
  const note = join(deployment.folder, 'effects');
  await deployment.writeHandler('recording.ts', recording(2));
  await deployment.synthesise();
  const first = await insertJobs(deployment, 'recording', { ms: 1200, note }, 1000);
  await untilRow(deployment, 'select from millrace.jobs where id >= $1 and started_at is not null limit 1', [first]);

  const { code, output } = await deployment.deploySynthesised();
  const switched = await changedAt(deployment.cloud, 'millrace-rehearsal-recording');

  expect(code, output).toBe(0);
  const done = await untilRow(
    deployment,
    `select count(*)::int as jobs, count(distinct result -> 'version')::int as versions
       from millrace.jobs where id >= $1 and status = 'succeeded' having count(*) = 1000`,
    [first],
  );
  expect(done).toEqual({ jobs: 1000, versions: 2 });
  expect(await countInFlight(deployment, switched)).toBeGreaterThan(0);
  expect(new Set((await readFile(note, 'utf8')).trim().split('\n')).size).toBe(1000);
});

it('refuses to remove a handler with unfinished jobs, and keeps the deployment running', async () => {
  await deployment.removeHandler('failing.ts');

  const refused = await deployment.deploy();
  await deployment.writeHandler('failing.ts', failing());
  const found = await deployment.doctor();
  const id = await insertJob(deployment, 'failing', { until: join(deployment.folder, 'present') });

  expect(refused.code).toBe(1);
  expect(refused.output).toContain(
    'failing has 1 unfinished job: keep the file until these jobs have finished or are cancelled, or deploy with ' +
      '-c stage=rehearsal -c drain=failing and leave them to become dead letters after 24 hours',
  );
  expect(refused.output).toMatch(ROLLED_BACK);
  expect(found.code, found.output).toBe(0);
  await untilJob(deployment, id, { status: 'succeeded' });
});

it('removes a handler in drain, whose jobs wait', async () => {
  await deployment.removeHandler('failing.ts');

  const { code, output } = await deployment.deploy('--context', 'drain=failing');
  const left = await listLeftovers(deployment.cloud);

  expect(code, output).toBe(0);
  expect(left.filter((name) => name.includes('failing'))).toEqual([]);
  expect(left).toContain('mapping of millrace-rehearsal-recording');
  expect(await deployment.query('select job_type from millrace.handlers')).toEqual([{ job_type: 'recording' }]);
  const waiting = await deployment.query(`select status from millrace.jobs where job_type = 'failing' and slot = 0`);
  expect(waiting).toEqual([{ status: 'failed' }]);
});

it('leaves nothing in the account when the stack is destroyed', async () => {
  deadJob = await postJob(deployment, 'recording', { until: join(deployment.folder, 'missing') });
  await untilJob(deployment, deadJob, { status: 'dead_letter' });

  const { output } = await deployment.destroy();

  expect(output).toMatch(/✅ {2}millrace-rehearsal: destroyed/);
  expect(await listLeftovers(deployment.cloud)).toEqual([]);
});

it('refills the dead-letter queues when the stack is deployed again', async () => {
  const { code, output } = await deployment.deploy();
  const id = await postJob(deployment, 'recording', {});
  await dieYesterday(deployment, deadJob);
  await sweepNow(deployment);
  await sweepNow(deployment);

  expect(code, output).toBe(0);
  expect(await untilJob(deployment, id, { status: 'succeeded' })).toMatchObject({ result: { version: 2 } });
  expect(await untilDeadMessage(deployment)).toMatch(/:millrace-rehearsal-recording$/);
});
