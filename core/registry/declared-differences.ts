import type { DefinitionData } from '../handler/definition.ts';
import { handlerName } from '../handler/naming.ts';
import type { ScheduleSpec } from '../handler/schedule.ts';
import type { Queryable } from '../postgres/database.ts';
import { declaredSchedules } from './register-schedules.ts';

// The database stores a payload without the order and the spaces of its text, so it compares the payloads itself.
const READ_DECLARED = `
  select s.name as schedule, s.job_type as "jobType", s.routing_key as "routingKey", s.cron,
         s.every_seconds as "everySeconds", s.zone, s.catch_up as "catchUp", s.overlap,
         s.spread_seconds as "spreadSeconds", s.start_by_seconds as "startBySeconds", s.priority,
         s.max_attempts as "maxAttempts",
         s.unique_key as "uniqueKey", s.group_key as "groupKey", s.tick_key as "tickKey",
         s.payload = (select i.payload::jsonb from jsonb_to_recordset($1::jsonb) as i(schedule text, payload text)
           where i.schedule = s.name) as "samePayload"
    from millrace.schedules s where s.declared order by s.name`;

type Declared = Omit<ScheduleSpec, 'payload'> & { readonly samePayload: boolean | null };

const COMPARED = [
  ...(['cron', 'everySeconds', 'zone', 'catchUp', 'overlap', 'spreadSeconds', 'priority', 'maxAttempts'] as const),
  ...(['startBySeconds', 'uniqueKey', 'groupKey', 'tickKey'] as const),
] as const;

/** Compares the declared schedules in the database, which the deployment wrote, with the code. */
export async function declaredDifferences(db: Queryable, definitions: readonly DefinitionData[]): Promise<string[]> {
  const specs = new Map(declaredSchedules(definitions).map((spec) => [spec.schedule, spec]));
  const { rows } = await db.query<Declared>(READ_DECLARED, [JSON.stringify([...specs.values()])]);
  const stored = new Set(rows.map(({ schedule }) => schedule));
  return [
    ...[...specs.keys()].filter((name) => !stored.has(name)).map((name) => `${name} is in the code but not registered`),
    ...rows.flatMap((row) => {
      const spec = specs.get(row.schedule);
      return spec === undefined ? [`${row.schedule} is registered but not in the code`] : rowDifferences(row, spec);
    }),
  ];
}

function rowDifferences(row: Declared, spec: ScheduleSpec): string[] {
  const pairs = [
    ['the handler', handlerName(row), handlerName(spec)] as const,
    ...COMPARED.map((option) => [option, row[option], spec[option]] as const),
  ];
  const texts = pairs
    .filter(([, is, says]) => is !== says)
    .map(([what, is, says]) => `${row.schedule}: ${what} is ${is ?? 'not set'}, but ${says ?? 'not set'} in the code`);
  return row.samePayload ? texts : [...texts, `${row.schedule}: the payload differs from the code`];
}
