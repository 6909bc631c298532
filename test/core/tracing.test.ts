import { context, type SpanContext, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { beforeEach, expect, it } from 'vitest';
import { enqueue, enqueueMany } from '../../core/jobs/enqueue.ts';
import { openDatabaseEngine } from '../support/database-engine.ts';
import { exporter } from '../support/spans.ts';

const engine = await openDatabaseEngine({ maxAttempts: 1 });
const { pool } = engine.database;
beforeEach(() => exporter.reset());

const spans = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name);

async function runAll(): Promise<void> {
  await engine.dispatch();
  await engine.run(engine.queues.receive('memory://work', 10));
}

it('an attempt links to the trace that enqueued its job, and is not part of it', async () => {
  await enqueue(pool, engine.definition, { n: 1 });

  await runAll();

  const [create] = spans('create work');
  const [process] = spans('process work');
  expect(create).toMatchObject({ kind: SpanKind.PRODUCER });
  expect(process).toMatchObject({ kind: SpanKind.CONSUMER });
  const { traceId, spanId } = create!.spanContext();
  expect(process!.links).toMatchObject([{ context: { traceId, spanId } satisfies Partial<SpanContext> }]);
  expect(process!.spanContext().traceId).not.toBe(traceId);
  expect(process!.attributes).toMatchObject({
    'messaging.system': 'millrace',
    'messaging.operation.type': 'process',
    'messaging.destination.name': 'work',
    'messaging.message.id': engine.runs[0],
    'millrace.attempt': 1,
    'millrace.max_attempts': 1,
    'millrace.outcome': 'succeeded',
  });
});

it("an enqueue is part of the application's trace", async () => {
  const outer = trace.getTracer('shop').startSpan('place order');

  await context.with(trace.setSpan(context.active(), outer), () => enqueue(pool, engine.definition, {}));
  outer.end();

  expect(spans('create work')[0]!.spanContext().traceId).toBe(outer.spanContext().traceId);
});

it('a span of a handler is part of its attempt', async () => {
  engine.work = () => trace.getTracer('shop').startSpan('charge').end();
  await enqueue(pool, engine.definition, {});

  await runAll();

  expect(spans('charge')[0]!.parentSpanContext?.spanId).toBe(spans('process work')[0]!.spanContext().spanId);
});

it('records the error of a failed attempt', async () => {
  engine.work = () => {
    throw new RangeError('too far');
  };
  await enqueue(pool, engine.definition, {});

  await runAll();

  expect(spans('process work')[0]).toMatchObject({
    status: { code: SpanStatusCode.ERROR, message: 'too far' },
    attributes: { 'error.type': 'RangeError', 'millrace.outcome': 'failed' },
  });
});

it('jobs enqueued together have one trace', async () => {
  const { definition: handler } = engine;
  await enqueueMany(pool, [
    { handler, payload: 1 },
    { handler, payload: 2, uniqueKey: 'k' },
  ]);

  await runAll();

  const { spanId } = spans('create work')[0]!.spanContext();
  expect(spans('create work')).toHaveLength(1);
  expect(spans('process work').map(({ links }) => links[0]?.context.spanId)).toEqual([spanId, spanId]);
});

it('accepts a given trace, including one from SQL, and creates no link from an invalid one', async () => {
  const given = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await enqueue(pool, engine.definition, {}, { traceparent: given });
  await engine.sql(`select millrace.enqueue('work', traceparent => 'nonsense')`);
  await engine.sql(`insert into millrace.jobs (job_type, traceparent) values ('work', $1)`, [given]);

  await runAll();

  const linked = spans('process work').map(({ links }) => links[0]?.context.spanId);
  expect(linked).toEqual(['b7ad6b7169203331', undefined, 'b7ad6b7169203331']);
});
