import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { changedAt, whatIsThere } from './account.ts';
import { disableMapping, invoke, removeRedrivePolicy } from './by-hand.ts';
import { ROLLED_BACK } from './commands.ts';
import { dieYesterday, sweepNow, untilDeadMessage } from './dead-letters.ts';
import { type Deployment, prepareDeployment } from './deployment.ts';
import { obedient, unlucky } from './handlers.ts';
import { countInFlight, insertJob, insertJobs, openApi, postJob, untilJob, untilRow } from './jobs.ts';

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
  const byApi = await postJob(deployment, 'obedient', {});

  const first = await untilJob(deployment, bySql, { status: 'succeeded' });
  const second = await untilJob(deployment, byApi, { status: 'succeeded' });

  expect([first, second]).toMatchObject(Array(2).fill({ attempts: 1, result: { version: 1 } }));
});

it('reaches the database by TLS alone, as the login of the functions', async () => {
  const connections = await deployment.query(`
    select distinct usename, ssl from pg_stat_ssl join pg_stat_activity using (pid)
      where application_name in ('millrace-dispatcher', 'millrace-handler', 'millrace-api')`);

  expect(connections).toEqual([{ usename: 'rehearsal_functions', ssl: true }]);
});

it('leaves a failed job a time for its next try', async () => {
  const id = await postJob(deployment, 'unlucky', {});

  const job = await untilJob(deployment, id, { status: 'failed' });

  expect(job).toMatchObject({ attempts: 1, last_error: 'no luck today', next_retry_at: expect.any(Date) });
});

it('ends in its first attempt a job that is beyond help', async () => {
  deadJob = await postJob(deployment, 'obedient', { until: join(deployment.folder, 'somebody') });

  await untilJob(deployment, deadJob, { status: 'dead_letter', attempts: 1 });
});

it.each([
  ['a database that is not reachable', () => 'databasePort=1', /connect ECONNREFUSED 127\.0\.0\.1:1 \(nothing answers/],
  [
    'a wrong secret',
    () => `databaseOwnerSecret=${deployment.wrongSecret}`,
    /authentication failed .*\(user and password/,
  ],
])('tells in a sentence of %s, and rolls back to what there was', async (_case, context, sentence) => {
  const { code, output } = await deployment.deploy('--context', context());

  expect(code).toBe(1);
  expect(output).toMatch(sentence);
  expect(output).toMatch(ROLLED_BACK);
});

it('finds nothing to change in what it has deployed', async () => {
  const { code, output } = await deployment.diff();

  expect(output).toMatch(/There were no differences/);
  expect(code).toBe(0);
});

it('has SQS move the message of a dead job to the dead-letter queue, and mirrors it', async () => {
  const source = await untilDeadMessage(deployment);
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

it('passes doctor until a person changes it', async () => {
  const { cloud } = deployment;

  const before = await deployment.doctor();
  const restorePolicy = await removeRedrivePolicy(cloud, 'millrace-rehearsal-obedient');
  const restoreMapping = await disableMapping(cloud, 'millrace-rehearsal-unlucky');
  await deployment.query(`delete from millrace.handlers where job_type = 'unlucky'`);
  const changed = await deployment.doctor();
  await Promise.all([restorePolicy(), restoreMapping(), invoke(cloud, 'millrace-rehearsal-registry')]);
  const restored = await deployment.doctor();

  expect(before.code, before.output).toBe(0);
  expect(changed.code).toBe(8);
  expect(changed.output).toContain('millrace-rehearsal-obedient: the dead-letter queue is not set, but millrace-');
  expect(changed.output).toContain('millrace-rehearsal-unlucky: the mapping is Disabled, but Enabled in the code');
  expect(changed.output).toContain('unlucky is in the code but not registered');
  expect(restored.code, restored.output).toBe(0);
});

it('loses no job when a changed handler is deployed in the middle of 1,000', async () => {
  const note = join(deployment.folder, 'effects');
  await deployment.writeHandler('obedient.ts', obedient(2));
  await deployment.synthesise();
  const first = await insertJobs(deployment, 'obedient', { ms: 1200, note }, 1000);
  await untilRow(deployment, 'select from millrace.jobs where id >= $1 and started_at is not null limit 1', [first]);

  const { code, output } = await deployment.deploySynthesised();
  const switched = await changedAt(deployment.cloud, 'millrace-rehearsal-obedient');

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

it('refuses to remove a handler that has unfinished jobs, and leaves at work what worked', async () => {
  await deployment.removeHandler('unlucky.ts');

  const refused = await deployment.deploy();
  await deployment.writeHandler('unlucky.ts', unlucky());
  const found = await deployment.doctor();
  const id = await insertJob(deployment, 'unlucky', { until: join(deployment.folder, 'somebody') });

  expect(refused.code).toBe(1);
  expect(refused.output).toContain(
    'unlucky has 1 unfinished job: keep the file until these jobs have finished or are cancelled, or deploy with ' +
      '-c drain=unlucky and leave them to become dead letters after 24 hours',
  );
  expect(refused.output).toMatch(ROLLED_BACK);
  expect(found.code, found.output).toBe(0);
  await untilJob(deployment, id, { status: 'succeeded' });
});

it('removes it when that is meant, and its jobs wait', async () => {
  await deployment.removeHandler('unlucky.ts');

  const { code, output } = await deployment.deploy('--context', 'drain=unlucky');
  const left = await whatIsThere(deployment.cloud);

  expect(code, output).toBe(0);
  expect(left.filter((name) => name.includes('unlucky'))).toEqual([]);
  expect(left).toContain('mapping of millrace-rehearsal-obedient');
  expect(await deployment.query('select job_type from millrace.handlers')).toEqual([{ job_type: 'obedient' }]);
  const waiting = await deployment.query(`select status from millrace.jobs where job_type = 'unlucky' and slot = 0`);
  expect(waiting).toEqual([{ status: 'failed' }]);
});

it('leaves nothing in the account when it is destroyed', async () => {
  deadJob = await postJob(deployment, 'obedient', { until: join(deployment.folder, 'nobody') });
  await untilJob(deployment, deadJob, { status: 'dead_letter' });

  const { output } = await deployment.destroy();

  expect(output).toMatch(/✅ {2}millrace-rehearsal: destroyed/);
  expect(await whatIsThere(deployment.cloud)).toEqual([]);
});

it('can be deployed again, and fills the dead-letter queues anew', async () => {
  const { code, output } = await deployment.deploy();
  const id = await postJob(deployment, 'obedient', {});
  await dieYesterday(deployment, deadJob);
  await sweepNow(deployment);
  await sweepNow(deployment);

  expect(code, output).toBe(0);
  expect(await untilJob(deployment, id, { status: 'succeeded' })).toMatchObject({ result: { version: 2 } });
  expect(await untilDeadMessage(deployment)).toMatch(/:millrace-rehearsal-obedient$/);
});
