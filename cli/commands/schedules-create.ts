import type { Command } from 'commander';
import type { Duration } from '../../core/duration.ts';
import type { HandlerAddress } from '../../core/handler/naming.ts';
import {
  type CatchUp,
  EXAMPLE_TICK,
  type Overlap,
  readScheduleText,
  type ScheduleSpec,
  tickPayload,
} from '../../core/handler/schedule.ts';
import type { Backend } from '../backend/backend.ts';
import { withBackend } from '../backend/open.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import { action, examples, rewordErrors, withPayloadArgument, withQuotes } from '../options/action.ts';
import { duration, jobType as jobTypeOf, key, scheduledKey, scheduleName, whole } from '../options/values.ts';
import { toJson } from '../screen/json.ts';
import { print, suggest } from '../screen/terminal.ts';
import { checkPayload, readPayload } from './payload.ts';
import { warnOfUnhandled } from './similar-handlers.ts';

interface CreateFlags {
  readonly cron?: string;
  readonly every?: Duration;
  readonly zone?: string;
  readonly catchUp?: CatchUp;
  readonly overlap?: Overlap;
  readonly spread?: Duration;
  readonly startBy?: Duration;
  readonly tickKey?: string;
  readonly routingKey?: string;
  readonly priority?: number;
  readonly maxAttempts?: number;
  readonly uniqueKey?: string;
  readonly groupKey?: string;
}

/** `millrace schedules create` */
export function addScheduleCreate(schedules: Command): void {
  rewordErrors(schedules.command('create'), (text) => withQuotes(withPayloadArgument(text), "'0 3 * * *'"))
    .argument('<schedule>', 'the name of the new schedule', scheduleName)
    .argument('<job_type>', 'the job type, such as send_reminder', jobTypeOf)
    .argument('[json]', 'the payload; - reads it from standard input', '{}')
    .description('create a schedule; a deployment neither changes nor removes it')
    .option('--cron <fields>', "minute, hour, day of the month, month, day of the week, such as '0 3 * * *'")
    .option('--every <duration>', 'an interval, such as 15m; use --cron or --every', duration)
    .option('--zone <name>', 'IANA time zone of --cron; default UTC')
    .option('--catch-up <rule>', 'ticks to make up for after an outage: none, latest (default) or all(<n>)')
    .option(
      '--overlap <rule>',
      'what a tick does while an earlier job is unfinished: allow (default), skip or queue-one',
    )
    .option('--spread <duration>', 'window after a tick in which its job runs', duration)
    .option('--start-by <duration>', 'skip a job that has not started this long after its run time', duration)
    .option('--tick-key <key>', 'member of the payload that gets the time of the tick')
    .option('--routing-key <key>', 'the routing key of the handler', scheduledKey)
    .option('--priority <n>', '0 to 9, lower first; default 5', whole(0, 9))
    .option('--max-attempts <n>', 'maximum number of attempts', whole(1, 1000))
    .option('--unique-key <key>', 'enqueue nothing while an unfinished job of this handler has this key', key)
    .option('--group-key <key>', 'share the handler fairly between jobs with different keys', key)
    .addHelpText(
      'after',
      examples(
        `schedules create nightly-report send_report --cron '0 3 * * *' --zone Europe/Berlin`,
        `schedules create poll import_orders '{"shop": 7}' --every 15m --overlap skip`,
      ),
    )
    .action(
      action<CreateFlags>(async (options, ...[name, jobType, given, command]: [string, string, string, Command]) => {
        const address = { jobType, routingKey: options.routingKey ?? '' };
        const payload = await readPayload(given, command);
        const spec = specOf(name, address, options, payload);
        await checkPayload(address, tickPayload(payload, spec.tickKey, EXAMPLE_TICK), options);
        await withBackend(options, (backend) => create(backend, spec, address));
        print(options.json ? toJson({ schedule: name }) : name);
        suggest(`npx millrace schedules next ${name}`);
        return undefined;
      }),
    );
}

async function create(backend: Backend, spec: ScheduleSpec, address: HandlerAddress): Promise<void> {
  if (!(await backend.createSchedule(spec))) {
    throw new CommandFailure(EXIT.conflict, `a schedule ${spec.schedule} exists: delete it first, or use another name`);
  }
  await warnOfUnhandled(backend, address);
}

function specOf(name: string, address: HandlerAddress, flags: CreateFlags, payload: string) {
  const { cron, every, zone, catchUp, overlap, spread, startBy, tickKey, priority } = flags;
  const { maxAttempts, uniqueKey, groupKey } = flags;
  const times = { cron, every, zone, catchUp, overlap, spread, startBy };
  const options = { ...times, tickKey, priority, maxAttempts, uniqueKey, groupKey };
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  return readScheduleText(name, address, given, payload);
}
