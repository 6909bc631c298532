import { ChangedSchedule, RanSchedule, Schedule, ShownSchedule } from '../../../api/documents/schedule-documents.ts';
import type { ScheduleSpec } from '../../../core/handler/schedule.ts';
import type { Backend } from '../backend.ts';
import type { Client } from './client.ts';
import { fromDocument, memberTexts } from './document.ts';
import { orRefusal } from './jobs.ts';
import { readPages } from './pages.ts';

const PATH = '/admin/schedules';

export function schedulesByApi(client: Client) {
  const one = (name: string) => `${PATH}/${encodeURIComponent(name)}`;
  return {
    listSchedules: async ({ limit }) => {
      return (await readPages(client, { path: PATH, item: Schedule }, limit)).map(fromDocument);
    },
    showSchedule: async (name, ticks) => {
      const asked = client.request(one(name), ShownSchedule, { query: { ticks } });
      const found = await orRefusal(asked, { 'not-found': undefined });
      if (found === undefined) return undefined;
      const { next_ticks, payload_restricted, payload: _payload, ...schedule } = found.document;
      const nextTicks = next_ticks.map((tick) => new Date(tick));
      const payload = payload_restricted ? undefined : memberTexts(found.text).get('payload');
      return { ...fromDocument(schedule), nextTicks, payload };
    },
    createSchedule: (spec) => {
      const done = client.request(PATH, ChangedSchedule, { method: 'POST', body: bodyOf(spec) }).then(() => true);
      return orRefusal(done, { 'invalid-state': false });
    },
    deleteSchedule: (name) => {
      const done = client.send(one(name), { method: 'DELETE' }).then(() => 'deleted' as const);
      return orRefusal(done, { 'not-found': 'not_found', 'invalid-state': 'declared' } as const);
    },
    pauseSchedule: (name) => client.send(`${one(name)}/pause`, { method: 'PUT' }),
    resumeSchedule: (name) => client.send(`${one(name)}/resume`, { method: 'PUT' }),
    runSchedule: async (name) => {
      const done = client.request(`${one(name)}/run`, RanSchedule, { method: 'POST' });
      return orRefusal(
        done.then(({ document }) => document.job_id),
        { 'not-found': undefined },
      );
    },
  } satisfies Partial<Backend>;
}

/** The payload is sent as given, since a number that JavaScript parses and writes again can lose digits. */
function bodyOf(spec: ScheduleSpec): string {
  const { payload, cron, everySeconds, zone, maxAttempts, uniqueKey, groupKey, tickKey, startBySeconds } = spec;
  const rest = JSON.stringify({
    ...{ schedule: spec.schedule, job_type: spec.jobType, routing_key: spec.routingKey || undefined },
    ...{ cron: cron ?? undefined, every: everySeconds ?? undefined, zone: cron === null ? undefined : zone },
    ...{
      catch_up: spec.catchUp,
      overlap: spec.overlap,
      spread: spec.spreadSeconds,
      start_by: startBySeconds ?? undefined,
    },
    ...{ priority: spec.priority, max_attempts: maxAttempts ?? undefined, tick_key: tickKey ?? undefined },
    ...{ unique_key: uniqueKey ?? undefined, group_key: groupKey ?? undefined },
  });
  return `${rest.slice(0, -1)},"payload":${payload}}`;
}
