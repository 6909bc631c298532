import {
  type Attributes,
  context,
  INVALID_SPAN_CONTEXT,
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

// OpenTelemetry's messaging conventions are not stable yet, so only this file follows them. Without an OpenTelemetry
// SDK in the process, every call below does nothing.
const tracer = trace.getTracer('millrace');
const SYSTEM = 'millrace';
// A later version may add parts, which are ignored.
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Runs an enqueue in its own span; its jobs store the trace of that span. */
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

/** The fields of an attempt that its span shows. */
export interface TracedAttempt {
  readonly jobType: string;
  readonly jobId: string;
  readonly number: number;
  readonly max: number;
  readonly traceparent: string | null;
}

/** Runs an attempt in a span that links to the trace that enqueued its job, which may be hours old. */
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
    quietly(() => describeOutcome(span, outcome));
    return outcome;
  });
}

function describeOutcome(span: Span, outcome: Outcome): void {
  span.setAttribute('millrace.outcome', outcome.kind);
  if (outcome.kind !== 'failed' && outcome.kind !== 'dead_letter') return;
  span.setAttribute('error.type', outcome.error.name);
  span.setStatus({ code: SpanStatusCode.ERROR, message: outcome.error.message });
}

async function inSpan<T>(
  name: string,
  options: { kind: SpanKind; attributes: Attributes; links?: Link[] },
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const span = quietly(() => tracer.startSpan(name, options)) ?? trace.wrapSpanContext(INVALID_SPAN_CONTEXT);
  let begun: Promise<T> | undefined;
  const begin = () => {
    begun ??= work(span);
    return begun;
  };
  quietly(() => context.with(trace.setSpan(context.active(), span), begin));
  try {
    return await begin();
  } catch (error) {
    quietly(() => span.setStatus({ code: SpanStatusCode.ERROR }));
    throw error;
  } finally {
    quietly(() => span.end());
  }
}

/** Calls the OpenTelemetry SDK of the application, whose errors must not decide how an attempt ends. */
function quietly<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch {
    return undefined;
  }
}

/** Returns the W3C header for `jobs.traceparent`; undefined outside any trace. */
function traceparentOf(span: Span): string | undefined {
  return isSpanContextValid(span.spanContext()) ? toTraceparent(span.spanContext()) : undefined;
}

/** Returns a caller's header `traceparent` for `jobs.traceparent`; undefined if the header is invalid. */
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

/** Parses a header; undefined if the standard calls it invalid: another format, or an id of zeros only. */
function parseTraceparent(text: string): SpanContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(text) ?? [];
  if (version === '00' && more !== undefined) return undefined;
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED;
  const context = { traceId, spanId, traceFlags, isRemote: true };
  return isSpanContextValid(context) ? context : undefined;
}
