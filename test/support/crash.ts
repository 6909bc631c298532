import { expect } from 'vitest';
import type { SqsRecord } from '../../core/run/sqs-event.ts';
import type { Engine } from './database-engine.ts';
import { eventually } from './eventually.ts';

/** Starts the jobs of these messages in a process that then stops without an outcome, as a killed process does. */
export async function crash(engine: Engine, records: readonly SqsRecord[]): Promise<void> {
  const { work } = engine;
  const before = engine.runs.length;
  engine.work = () => new Promise(() => undefined);
  const time = { now: () => 0, sleep: () => new Promise<void>(() => undefined) };
  void engine.run(records, { deps: { time } });
  await eventually(() => expect(engine.runs).toHaveLength(before + records.length));
  engine.work = work;
}
