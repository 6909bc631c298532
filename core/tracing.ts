import {
  type Attributes,
  context,
  isSpanContextValid,
  type Link,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import type { Outcome } from './outcome.ts';

// OpenTelemetry's messaging conventions are not stable yet, so all that follows them is here. Without an SDK in the
// process every call below does nothing.
const tracer = trace.getTracer('millrace');
const SYSTEM = 'millrace';
// A later version may add parts, and is read as far as we know it.
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Runs an enqueue in a span of its own, which is the trace that its jobs carry. */
export async function traceCreate<T>(
  jobTypes: readonly string[],
  work: (traceparent: string | undefined) => Promise<T>,
): Promise<T> {
  const types = [...new Set(jobTypes)];
  const name = types.length === 1 ? `create ${types[0]}` : 'create';
  const attributes: Attributes = {
    'messaging.system': SYSTEM,
    'messaging.operation.type': 'create',
    'messaging.operation.name': 'create',
    ...(types.length === 1 && { 'messaging.destination.name': types[0] }),
    ...(jobTypes.length > 1 && { 'messaging.batch.message_count': jobTypes.length }),
  };
  return inSpan(name, { kind: SpanKind.PRODUCER, attributes }, (span) => work(traceparentOf(span)));
}

/** Of the attempt that a span shows. */
export interface TracedAttempt {
  readonly jobType: string;
  readonly jobId: string;
  readonly number: number;
  readonly max: number;
  readonly traceparent: string | null;
}

/** Runs an attempt in a span that links to the trace that enqueued its job: hours may lie between them. */
export async function traceAttempt(attempt: TracedAttempt, work: () => Promise<Outcome>): Promise<Outcome> {
  const attributes: Attributes = {
    'messaging.system': SYSTEM,
    'messaging.operation.type': 'process',
    'messaging.operation.name': 'process',
    'messaging.destination.name': attempt.jobType,
    'messaging.message.id': attempt.jobId,
    'millrace.attempt': attempt.number,
    'millrace.max_attempts': attempt.max,
  };
  const options = { kind: SpanKind.CONSUMER, attributes, links: linksTo(attempt.traceparent) };
  return inSpan(`process ${attempt.jobType}`, options, async (span) => {
    const outcome = await work();
    span.setAttribute('millrace.outcome', outcome.kind);
    if (outcome.kind === 'failed' || outcome.kind === 'dead_letter') {
      span.setAttribute('error.type', outcome.error.name);
      span.setStatus({ code: SpanStatusCode.ERROR, message: outcome.error.message });
    }
    return outcome;
  });
}

async function inSpan<T>(
  name: string,
  options: { kind: SpanKind; attributes: Attributes; links?: Link[] },
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const span = tracer.startSpan(name, options);
  try {
    return await context.with(trace.setSpan(context.active(), span), () => work(span));
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}

/** W3C's header, as `jobs.traceparent` holds it; undefined outside any trace. */
function traceparentOf(span: Span): string | undefined {
  return isSpanContextValid(span.spanContext()) ? toTraceparent(span.spanContext()) : undefined;
}

/** A caller's header `traceparent` as `jobs.traceparent` holds it; undefined for one that is to be ignored. */
export function readTraceparent(header: string): string | undefined {
  const context = parseTraceparent(header);
  return context && toTraceparent(context);
}

function toTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

function linksTo(traceparent: string | null): Link[] {
  const context = parseTraceparent(traceparent ?? '');
  return context === undefined ? [] : [{ context }];
}

/** Undefined for what W3C calls invalid: another shape, or ids of zeros alone. */
function parseTraceparent(text: string): SpanContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(text) ?? [];
  if (version === '00' && more !== undefined) return undefined;
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED;
  const context = { traceId, spanId, traceFlags, isRemote: true };
  return isSpanContextValid(context) ? context : undefined;
}
