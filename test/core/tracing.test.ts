import {
  context,
  type ProxyTracerProvider,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { enqueue, enqueueMany } from '../../core/enqueue/enqueue.ts';
import { openDatabaseEngine } from '../support/database-engine.ts';
import { exporter } from '../support/spans.ts';

const engine = await openDatabaseEngine({ maxAttempts: 1 });
const { pool } = engine.database;
beforeEach(() => exporter.reset());
afterEach(() => vi.restoreAllMocks());

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

/** Makes one call of the OpenTelemetry SDK throw. */
function breakSdk(name: string): void {
  const provider = (trace.getTracerProvider() as ProxyTracerProvider).getDelegate();
  const tracer = provider.getTracer('any');
  const span = tracer.startSpan('any');
  const owner = [context, tracer, span].find((one) => name in one) as unknown as Record<string, () => never>;
  vi.spyOn(owner === (context as unknown) ? owner : Object.getPrototypeOf(owner), name).mockImplementation(() => {
    throw new Error('exporter is closed');
  });
}

it.each(['startSpan', 'with', 'setAttribute', 'setStatus', 'end'])(
  'the jobs of a batch end as their handler decided, although %s of the SDK throws',
  async (name) => {
    const ids = [await engine.enqueue({ payload: 1 }), await engine.enqueue({ payload: 2 })];
    engine.work = ({ payload }) => {
      if (payload === 2) throw new RangeError('too far');
    };
    breakSdk(name);

    await runAll();

    const states = await Promise.all(ids.map((id) => engine.state(id)));
    expect(states.map(({ status, attempts }) => [status, attempts])).toEqual([
      ['succeeded', 1],
      ['dead_letter', 1],
    ]);
    expect(states[1]?.last_error).toContain('too far');
  },
);
