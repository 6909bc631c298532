import fc from 'fast-check';
import { expect, it } from 'vitest';
import { defineHandler } from '../../../core/handler/handler.ts';
import {
  OVERRUN_SECONDS,
  SETTLE_RESERVE_SECONDS,
  SOURCE_RETENTION_SECONDS,
  timingOf,
} from '../../../core/handler/timing.ts';

const payload = { '~standard': { version: 1, vendor: 'none', validate: (value: unknown) => ({ value }) } } as const;

/** Generates every definition that `defineHandler` accepts. */
const definition = fc
  .record({
    timeout: fc.integer({ min: 1, max: 880 }),
    concurrency: fc.integer({ min: 2, max: 1000 }),
    size: fc.integer({ min: 1, max: 10_000 }),
    window: fc.integer({ min: 0, max: 300 }),
    maxInFlight: fc.integer({ min: 1, max: 100_000 }),
  })
  .map(({ timeout, concurrency, size, window, maxInFlight }) => {
    const batch = { size, window: size > 10 ? Math.max(1, window) : window };
    const options = { jobType: 'any', payload, timeout, concurrency, batch, run: async () => undefined };
    try {
      return defineHandler({ ...options, maxInFlight });
    } catch {
      return defineHandler(options);
    }
  });

it('ends an attempt before the function, and the function before the lease', () => {
  fc.assert(
    fc.property(definition, (handler) => {
      const timing = timingOf(handler);

      expect(timing.timeout).toBe(handler.timeoutSeconds);
      expect(timing.functionTimeout).toBeGreaterThan(timing.timeout + OVERRUN_SECONDS + SETTLE_RESERVE_SECONDS);
      expect(timing.functionTimeout).toBeLessThanOrEqual(900);
      expect(timing.runningLease).toBeGreaterThan(timing.functionTimeout);
    }),
  );
});

it('hides a message for six times the function timeout, as SQS requires, and within its limit', () => {
  fc.assert(
    fc.property(definition, (handler) => {
      const { visibilityTimeout, functionTimeout } = timingOf(handler);

      expect(visibilityTimeout).toBeGreaterThanOrEqual(6 * functionTimeout + handler.batch.windowSeconds);
      expect(visibilityTimeout).toBeLessThanOrEqual(43_200);
    }),
  );
});

it('includes the wait for a full queue in the dispatched lease', () => {
  fc.assert(
    fc.property(definition, (handler) => {
      const { dispatchedLease, functionTimeout } = timingOf(handler);
      const rounds = Math.ceil(handler.maxInFlight / (handler.concurrency * handler.batch.size));

      expect(dispatchedLease).toBeGreaterThan(rounds * functionTimeout + handler.batch.windowSeconds);
    }),
  );
});

it('ends the dispatched lease before SQS deletes the message', () => {
  fc.assert(
    fc.property(definition, (handler) => {
      expect(timingOf(handler).dispatchedLease).toBeLessThan(SOURCE_RETENTION_SECONDS);
    }),
  );
});

it('is in whole seconds, which Lambda and SQS require', () => {
  fc.assert(
    fc.property(definition, (handler) => {
      expect(Object.values(timingOf(handler)).every(Number.isInteger)).toBe(true);
    }),
  );
});

it('keeps the dispatched lease of the default handler far below the retention of a message', () => {
  const handler = defineHandler({ jobType: 'any', payload, run: async () => undefined });

  expect(timingOf(handler)).toEqual({
    timeout: 30,
    functionTimeout: 40,
    runningLease: 45,
    dispatchedLease: 430,
    visibilityTimeout: 240,
  });
  expect(timingOf(handler).dispatchedLease).toBeLessThan(SOURCE_RETENTION_SECONDS);
});
