import { describe, expect, it } from 'vitest';
import { alarmsOf } from '../../infra/plan/alarms.ts';
import { SCENARIOS, SOUND } from './alarm-scenarios.ts';
import { minutesInAlarm } from './alarm-state.ts';
import { live, type Truth } from './alarm-world.ts';

const alarms = alarmsOf({
  stage: 'dev',
  apiId: 'api',
  clusterId: 'cluster',
  instanceId: 'instance',
  rotated: ['owner', 'app'],
});
const BEFORE = 10;

/** Returns the minutes in which each alarm that was ever in ALARM was, by its name without the stage. */
async function watch(minutes: number, truthAt: (minute: number) => Truth): Promise<Record<string, number[]>> {
  const series = await live(minutes, truthAt);
  const seen = alarms.map((spec) => [
    spec.name.replace('millrace-dev-', ''),
    // The first minutes are before the alarms exist.
    minutesInAlarm(spec, series, minutes).filter((minute) => minute >= 5),
  ]);
  return Object.fromEntries(seen.filter(([, during]) => (during as number[]).length > 0));
}

/** Returns how often a state begins. */
const begins = (minutes: ReadonlySet<number>) => [...minutes].filter((minute) => !minutes.has(minute - 1)).length;

describe('without a fault, no alarm is raised', () => {
  it.each(SOUND)(
    'with %s',
    async (_name, truth) => {
      expect(await watch(60, truth)).toEqual({});
    },
    600_000,
  );
});

it('every alarm has a scenario', () => {
  const covered = SCENARIOS.map(({ alarm }) => `millrace-dev-${alarm}`);

  expect(alarms.map(({ name }) => name).filter((name) => !covered.includes(name))).toEqual([]);
});

describe('a fault raises its alarm once, in time, and the alarm closes', () => {
  it.each(SCENARIOS)(
    '$fault: $alarm',
    async (scenario) => {
      const { alarm, severity, within, also = [], lasts, closesWithin, truth } = scenario;
      const end = BEFORE + lasts;

      // Jobs take time, and only some faults concern them.
      const { enqueued = 0 } = truth(0);
      const seen = await watch(end + closesWithin + 5, (minute) =>
        minute >= BEFORE && minute < end ? truth(minute - BEFORE) : { enqueued },
      );

      const paging = alarms
        .filter((spec) => spec.severity === 'page')
        .map(({ name }) => name.replace('millrace-dev-', ''));
      const paged = new Set(Object.entries(seen).flatMap(([name, minutes]) => (paging.includes(name) ? minutes : [])));
      const raised = seen[alarm] ?? [];
      expect(Object.keys(seen).toSorted()).toEqual([alarm, ...also].toSorted());
      expect(raised[0]).toBeGreaterThanOrEqual(BEFORE);
      expect(raised[0]).toBeLessThan(BEFORE + within);
      expect(raised.at(-1)).toBeLessThan(end + closesWithin);
      expect(begins(paged)).toBe(severity === 'page' ? 1 : 0);
      expect(begins(new Set(raised))).toBe(1);
    },
    600_000,
  );
});
