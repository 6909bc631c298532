import { DeleteQueueCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LOG_EVENTS } from '../../core/log-table.ts';
import { CLOUDWATCH_METRICS, CLOUDWATCH_NAMESPACE } from '../../core/numbers/metric-table.ts';
import { eventually } from '../support/eventually.ts';
import { faultsOf } from '../support/log-lines.ts';
import { openRecordedStack, type RecordedStack } from '../support/printed.ts';
import { makeProject, type Project } from '../support/project.ts';
import { handlerSource } from './sources.ts';

const WORK = `
  const { Cancel, DeadLetter, Skip, Snooze } = await import('../../core/handler/chosen-outcome.ts');
  if (payload.end === 'fail') throw new RangeError('no');
  if (payload.end === 'die') throw new DeadLetter('for good');
  if (payload.end === 'skip') throw new Skip('not needed');
  if (payload.end === 'cancel') throw new Cancel('not wanted');
  if (payload.end === 'snooze') throw new Snooze('1h');
`;
const ENDS = ['succeed', 'fail', 'die', 'skip', 'cancel', 'snooze'];
const PATIENCE = { interval: 100 };

let project: Project;
let stack: RecordedStack;
beforeAll(async () => {
  const options = 'maxAttempts: 2,';
  project = await makeProject({
    'work.ts': handlerSource('work', WORK, options),
    'lost.ts': handlerSource('lost', 'return 1;'),
  });
  stack = await openRecordedStack(project);
  await provokeAll();
});
afterAll(async () => {
  await stack?.close();
  await project?.remove();
});

const post = async (path: string, body?: unknown) => {
  const init = body === undefined ? {} : { headers: { 'content-type': 'application/json' } };
  const response = await fetch(`${stack.apiUrl}${path}`, {
    method: 'POST',
    body: JSON.stringify(body) ?? null,
    ...init,
  });
  return (await response.json()) as { items: { id: string }[] };
};
const linesOf = (event: string) => stack.lines.filter(({ fields }) => fields.event === event);
const until = (event: string) => eventually(() => expect(linesOf(event).length, event).toBeGreaterThan(0), PATIENCE);

/** Provokes every metric of the table and the usual log lines. */
async function provokeAll(): Promise<void> {
  const sqs = new SQSClient({
    ...{ endpoint: stack.sqsEndpoint, region: 'us-east-1' },
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
  // Late schedules are counted only if there are schedules.
  await stack.db.query(`select millrace.create_schedule('yearly', 'work', cron => '0 0 29 2 *')`);
  const [lost, work] = stack.handlers.list();
  await sqs.send(new DeleteQueueCommand({ QueueUrl: lost!.queueUrl }));
  await sqs.send(new SendMessageCommand({ QueueUrl: work!.queueUrl, MessageBody: 'nonsense' }));
  const jobs = [...ENDS.map((end) => ({ job_type: 'work', payload: { end } })), { job_type: 'lost' }];
  const { items } = await post('/jobs/bulk', { jobs });
  await fetch(`${stack.apiUrl}/admin/jobs/4711`);
  for (const event of ['job_dead_letter', 'job_snoozed', 'send_refused', 'message_unreadable']) await until(event);
  // The unreadable message returns until SQS moves it, and the handler refuses it each time.
  await until('message_not_started');
  await eventually(async () => {
    await stack.runner.invoke('millrace-local-dlq-mirror', {}, 'RequestResponse');
    expect(linesOf('mirrored').some(({ fields }) => fields.dead !== undefined)).toBe(true);
  }, PATIENCE);
  const died = items[ENDS.indexOf('die')]!.id;
  await post(`/admin/jobs/${died}/retry`);
  await eventually(() => expect(linesOf('job_dead_letter').length).toBeGreaterThan(2), PATIENCE);
  await post('/admin/redrives', { job_type: ['work'], rate: 100 });
  await until('redrive_done');
  const later = expect.arrayContaining(['ManualRetry', 'LateSchedules']);
  await eventually(() => expect([...published().keys()]).toEqual(later), PATIENCE);
  sqs.destroy();
}

const WRITERS: Readonly<Record<string, string>> = {
  'millrace-local-dispatcher': 'dispatcher',
  'millrace-local-dlq-mirror': 'mirror',
  'millrace-local-work': 'handler',
};

interface Directive {
  readonly Namespace: string;
  readonly Dimensions: string[][];
  readonly Metrics: readonly { Name: string; Unit: string }[];
}

/** Reads the lines as CloudWatch does; returns the different ways in which each metric was published. */
function published(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const { functionName, fields } of linesOf('metrics')) {
    const { CloudWatchMetrics } = fields._aws as { CloudWatchMetrics: Directive[] };
    for (const { Namespace, Dimensions, Metrics } of CloudWatchMetrics) {
      for (const { Name, Unit } of Metrics) {
        const way = { namespace: Namespace, unit: Unit, dimensions: Dimensions, from: WRITERS[functionName] };
        found.set(Name, (found.get(Name) ?? new Set()).add(JSON.stringify(way)));
      }
    }
  }
  return found;
}

/** Published only when an attempt is lost: test/infra/alarms.story.ts. */
const UNPUBLISHED = ['LostAttempts'];

it('the bundles publish every metric of the table, in its namespace, unit and dimensions, and no other', () => {
  const expected = Object.entries(CLOUDWATCH_METRICS).filter(([name]) => !UNPUBLISHED.includes(name));
  const rows = expected.map(([name, { unit, dimensions, from }]) => {
    return [name, [JSON.stringify({ namespace: CLOUDWATCH_NAMESPACE, unit, dimensions, from })]];
  });

  const found = Object.fromEntries([...published()].map(([name, ways]) => [name, [...ways]]));

  expect(found).toEqual(Object.fromEntries(rows));
});

it('every published metric has its value and every dimension on its line', () => {
  const missing = linesOf('metrics').flatMap(({ fields }) => {
    const { CloudWatchMetrics } = fields._aws as { CloudWatchMetrics: Directive[] };
    return CloudWatchMetrics.flatMap(({ Dimensions, Metrics }) => [
      ...Dimensions.flat().filter((name) => typeof fields[name] !== 'string'),
      ...Metrics.map(({ Name }) => Name).filter((name) => ![fields[name]].flat().every(Number.isFinite)),
    ]);
  });

  expect(missing).toEqual([]);
});

it('the metrics count each event once', () => {
  const sum = (name: string, jobType?: string) =>
    linesOf('metrics')
      .filter(({ fields }) => fields.job_type === jobType)
      .flatMap(({ fields }) => [fields[name] ?? 0].flat() as number[])
      .reduce((total, value) => total + value, 0);

  const counted = { enqueued: sum('Enqueued', 'work'), retried: sum('Retried', 'work'), lost: sum('Enqueued', 'lost') };

  expect(counted).toEqual({ enqueued: ENDS.length, retried: linesOf('job_failed').length, lost: 1 });
  expect(sum('DispatchErrors')).toBeGreaterThan(0);
});

it('every line of dispatcher, handlers, mirror and API has the fields of the table, and no other', () => {
  const faults = stack.lines.map(({ fields }) => ({ ...fields, faults: faultsOf(fields) }));

  expect(faults.filter((line) => line.faults.length > 0)).toEqual([]);
  expect(stack.others).toEqual([]);
  expect(new Set(stack.lines.map(({ functionName }) => functionName))).toEqual(
    new Set([...Object.keys(WRITERS), 'millrace-local-api']),
  );
});

it('every line names its function and invocation', () => {
  const nameless = stack.lines.filter(
    ({ functionName, fields }) =>
      fields.function_name !== functionName || typeof fields.function_request_id !== 'string',
  );

  expect(nameless).toEqual([]);
});

it('the log has a line for the start of each attempt', () => {
  const endings = stack.lines.filter(({ fields }) => fields.event !== 'job_started' && 'duration_ms' in fields);
  const attemptsOf = (lines: typeof stack.lines) =>
    lines.filter(({ fields }) => 'job_id' in fields).map(({ fields }) => `${fields.job_id} ${fields.sqs_message_id}`);

  expect(linesOf('job_started')[0]?.fields.message).toBe('work started attempt 1/2.');
  expect(attemptsOf(linesOf('job_started'))).toEqual(expect.arrayContaining(attemptsOf(endings)));
});

it('the log has a line for the outcome of each attempt', () => {
  const endings = ['succeeded', 'failed', 'dead_letter', 'skipped', 'cancelled', 'snoozed'].map((end) => `job_${end}`);

  const messages = endings.map((event) => linesOf(event)[0]?.fields.message);

  expect(endings.filter((event) => !(event in LOG_EVENTS))).toEqual([]);
  expect(messages).toEqual([
    'work succeeded on attempt 1/2.',
    expect.stringMatching(/^work failed on attempt 1\/2: RangeError: no\. Due again in [\d.]+ s\.$/),
    expect.stringMatching(/^work failed for good on attempt \d\/2: (DeadLetter: for good|RangeError: no)\.$/),
    'work was skipped on attempt 1/2: Skip: not needed.',
    'work was cancelled on attempt 1/2: Cancel: not wanted.',
    expect.stringMatching(/^work snoozed on attempt 1\/2.* Due again in 3600 s\.$/),
  ]);
});
