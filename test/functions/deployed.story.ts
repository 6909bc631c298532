import { InvokeCommand } from '@aws-sdk/client-lambda';
import { CreateQueueCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, expect, it } from 'vitest';
import { ownMigrations } from '../../core/postgres/migration-files.ts';
import { eventually } from '../support/eventually.ts';
import { credentials, openDeployed } from './deployed-functions.ts';
import echo from './deployed-handler.ts';

const { secrets, sqs, runner, lambda, admin, add, invoke, close } = await openDeployed();
afterAll(close);

/** Returns the event with which the gateway requests the list of keys. */
function listKeys(authorization: string, authorizer?: object): object {
  const requestContext = { requestId: 'r', domainName: 'x.test', http: { method: 'GET' }, authorizer };
  const event = { rawPath: '/admin/api-keys', rawQueryString: '', isBase64Encoded: false, requestContext };
  // The body of a request must never create a key.
  return { ...event, headers: { authorization }, body: '{"create_key": {"name": "mine", "scopes": ["admin"]}}' };
}

it('the deployed functions migrate an empty database and run a job, each with the login of its secret', async () => {
  const queues = new SQSClient({ endpoint: sqs.endpoint, region: 'us-east-1', credentials });
  const { QueueUrl = '' } = await queues.send(new CreateQueueCommand({ QueueName: 'millrace-test-echo' }));
  await queues.send(new CreateQueueCommand({ QueueName: 'millrace-test-echo-dlq' }));
  await add('migrate', 'owner', { MILLRACE_MIGRATIONS: ownMigrations(), MILLRACE_RUNTIME_SECRET: 'runtime' });
  const variables = { MILLRACE_MAX_ATTEMPTS: '3', MILLRACE_RETRY_DELAY_echo: '2.0', MILLRACE_JOB_TIMEOUT_echo: '40' };
  await add('registry', 'runtime', {
    ...variables,
    MILLRACE_QUEUE_URL_PREFIX: QueueUrl.replace('millrace-test-echo', ''),
  });
  await add('dispatcher', 'runtime', { MILLRACE_DISPATCH_MODE: 'tick' });
  const named = { GREETING: 'good morning', MILLRACE_SECRETS: 'TOKEN=token' };
  await add('handler', 'runtime', { ...variables, ...named, MILLRACE_QUEUE_URL: QueueUrl });
  const queueArn = 'arn:aws:sqs:us-east-1:000000000000:millrace-test-echo';
  const mapping = { functionName: 'handler', queueUrl: QueueUrl, queueArn, maximumConcurrency: 2 };
  runner.runner.addMapping({ ...mapping, batchSize: 10, windowSeconds: 0 });

  for (const step of ['migrate', 'registry', 'migrate', 'registry']) await invoke(step);
  await admin.query(`insert into millrace.jobs (job_type, payload) values ($1, '{"say": "hello"}')`, [echo.jobType]);
  await invoke('dispatcher');

  await eventually(async () => {
    const { rows } = await admin.query('select status, result from millrace.jobs');
    expect(rows).toEqual([{ status: 'succeeded', result: { say: 'hello' } }]);
  });
  const { rows } = await admin.query('select max_attempts, timeout_seconds, retry_policy from millrace.handlers');
  expect(rows).toEqual([
    { max_attempts: 3, timeout_seconds: 40, retry_policy: { kind: 'fixed', delay: 2, jitter: 0 } },
  ]);
});

it('a deployed handler gets its settings and secrets, and a secret is in no line, row or error', async () => {
  const READ = 'select status, result, last_error from millrace.jobs where id = any($1) order by id';
  const insert = `insert into millrace.jobs (job_type, payload)
    values ('echo', '{"say": "greeting"}'), ('echo', '{"say": "token"}') returning id`;
  const { rows: made } = await admin.query(insert);

  await invoke('dispatcher');

  await eventually(async () => {
    const { rows } = await admin.query(READ, [made.map(({ id }) => id)]);
    expect(rows).toEqual([
      { status: 'succeeded', result: { say: 'good morning' }, last_error: null },
      { status: 'failed', result: null, last_error: '401 for ***' },
    ]);
  });
  const { rows: attempts } = await admin.query('select * from millrace.job_attempts');
  expect(runner.lines().join('\n')).toContain('received');
  expect(JSON.stringify([attempts, runner.lines()])).not.toContain('hunter2');
});

it('the deployed functions run all jobs while the password of their login is rotated', async () => {
  const insert = `insert into millrace.jobs (job_type, payload)
    select 'echo', '{"say": "hello"}' from generate_series(1, 20) returning id`;
  const ids: string[] = [];
  const runSome = async () => {
    const { rows } = await admin.query(insert);
    ids.push(...rows.map(({ id }) => id));
    await invoke('dispatcher');
  };
  const disconnect = () =>
    admin.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and usename = 'runtime'`);
  // As a rotation of Secrets Manager does it. The connections end, so that each function must log in.
  const { password, ...login } = JSON.parse(secrets.get('runtime') ?? '');
  const steps = [
    async () => void secrets.set('runtime AWSPENDING', JSON.stringify({ ...login, password: 'rotated' })),
    () => admin.query(`alter role runtime password 'rotated'`),
    disconnect,
    async () => {
      secrets.set('runtime AWSPREVIOUS', JSON.stringify({ ...login, password }));
      secrets.set('runtime', JSON.stringify({ ...login, password: 'rotated' }));
      secrets.delete('runtime AWSPENDING');
    },
    disconnect,
  ];

  for (const step of steps) await Promise.all([runSome(), step()]);
  await runSome();

  await eventually(async () => {
    await invoke('dispatcher');
    const { rows } = await admin.query(
      `select status, count(*)::int as count from millrace.jobs where id = any($1) group by 1`,
      [ids],
    );
    expect(rows).toEqual([{ status: 'succeeded', count: 120 }]);
  });
});

it('the API function creates the first key when it is invoked directly', async () => {
  await add('api', 'runtime', { MILLRACE_API_AUTH: 'api-key', MILLRACE_DISPATCHER_FUNCTION: 'dispatcher' });

  const made = (await invoke('api', { create_key: { name: 'ops', scopes: ['admin'], expires_in: '90d' } })) as {
    secret: string;
  };
  const known = (await invoke('api', listKeys(`Bearer ${made.secret}`))) as { body: string };
  const unknown = await invoke('api', listKeys('Bearer millrace_1_guess'));
  const { rows } = await admin.query("select details from millrace.audit_log where action = 'create_key'");

  expect(made).toMatchObject({ name: 'ops', id: expect.stringMatching(/^\d+$/), revoked_at: null });
  expect(JSON.parse(known.body)).toMatchObject({ items: [{ name: 'ops' }] });
  expect(unknown).toMatchObject({ statusCode: 401 });
  expect(rows).toMatchObject([{ details: { name: 'ops', request_id: expect.stringMatching(/^[\da-f-]{36}$/) } }]);
  expect(runner.lines().join('\n')).not.toContain(made.secret);
});

it('the API function serves only tokens that the gateway has verified, and creates no key', async () => {
  const tokens = { MILLRACE_API_JWT_ISSUER: 'https://login.example.com', MILLRACE_API_JWT_AUDIENCE: 'jobs' };
  const environment = { ...tokens, MILLRACE_API_AUTH: 'gateway-jwt', MILLRACE_DISPATCHER_FUNCTION: 'dispatcher' };
  await add('api', 'runtime', environment, 'token-api');
  const claims = { iss: 'https://login.example.com', aud: 'jobs', sub: 'ada', scope: 'keys:admin' };

  const verified = await invoke('token-api', listKeys('Bearer a.b.c', { jwt: { claims, scopes: null } }));
  const unverified = await invoke('token-api', listKeys('Bearer a.b.c'));
  const made = await invoke('token-api', { create_key: { name: 'ops', scopes: ['admin'] } });

  expect(verified).toMatchObject({ statusCode: 200 });
  expect(unverified).toMatchObject({ statusCode: 401 });
  expect(made).toEqual({ refused: expect.stringMatching(/^this API reads no API keys/) });
});

it.each([
  [{ name: 'ops', scopes: ['boss'] }, /create_key: .*scopes\[0\]/s],
  [{ name: '', scopes: ['admin'] }, /create_key: .*name/s],
  [undefined, /create_key: .*expected object/s],
])('the API function rejects a first key of %j with the reason', async (wanted, reason) => {
  const Payload = JSON.stringify({ create_key: wanted });

  const answer = await lambda.send(new InvokeCommand({ FunctionName: 'api', Payload }));

  expect(answer.FunctionError).toBe('Unhandled');
  expect(answer.Payload?.transformToString()).toMatch(reason);
});
