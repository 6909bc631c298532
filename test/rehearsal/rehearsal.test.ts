import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Deployment, prepareDeployment } from './deployment.ts';
import { obedient, unlucky } from './handlers.ts';

/** The schedule ticks once a minute. */
const PATIENCE_MS = 200_000;

let deployment: Deployment;

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

it('runs a job that was inserted by SQL', async () => {
  const id = await insertJob('obedient', {});

  const job = await untilJob(id, { status: 'succeeded' });

  expect(job).toMatchObject({ attempts: 1, result: { version: 1 } });
});

interface Job {
  readonly status: string;
  readonly attempts: number;
  readonly result: unknown;
  readonly last_error: string | null;
  readonly next_retry_at: Date | null;
}

async function insertJob(jobType: string, payload: object): Promise<string> {
  const rows = await deployment.query<{ id: string }>(
    'insert into millrace.jobs (job_type, payload) values ($1, $2) returning id::text',
    [jobType, payload],
  );
  return rows[0]!.id;
}

function untilJob(id: string, wanted: Partial<Job>): Promise<Job> {
  return eventually(
    async () => {
      const [job] = await deployment.query<Job & Record<string, unknown>>(
        'select status, attempts, result, last_error, next_retry_at from millrace.jobs where id = $1',
        [id],
      );
      expect(job, await deployment.cloud.log()).toMatchObject(wanted);
      return job!;
    },
    { timeout: PATIENCE_MS, interval: 500 },
  );
}
