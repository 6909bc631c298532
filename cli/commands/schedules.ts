import type { Command } from 'commander';
import { handlerName } from '../../core/handler/naming.ts';
import type { Schedule } from '../../core/schedules/list-schedules.ts';
import type { SeenSchedule } from '../backend/backend.ts';
import { withBackend } from '../backend/open.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { action, examples } from '../options/action.ts';
import { addDefault } from '../options/default-command.ts';
import { scheduleName, scheduleNames, whole } from '../options/values.ts';
import { exactJson, snakeCase, toJson } from '../screen/json.ts';
import { addJsonLines, type ListOptions, printList } from '../screen/json-lines.ts';
import { print, printMessage, printRows, printTable, suggest } from '../screen/terminal.ts';
import { addScheduleCreate } from './schedules-create.ts';
import { addScheduleDelete } from './schedules-delete.ts';

const HEADINGS = ['SCHEDULE', 'HANDLER', 'WHEN', 'ZONE', 'STATE', 'LAST TICK', 'LAST JOB', 'NEXT TICK'];

/** Schedules whose fault a list explains. */
const MOST_FAULTS = 20;

/** `millrace schedules [list] | next | run | pause | resume | create | delete` */
export function addSchedules(program: Command): void {
  const schedules = program.command('schedules').description('list, run, pause, resume, create and delete schedules');
  schedules.addHelpText(
    'after',
    examples('schedules', 'schedules next nightly-report', 'schedules pause nightly-report'),
  );
  addJsonLines(addDefault(schedules, 'list'))
    .description('list schedules by name, with their states and ticks')
    .addHelpText('after', examples('schedules', 'schedules --jsonl'))
    .option('--limit <n>', 'maximum number of schedules', whole(1, 10_000), 100)
    .action(
      action<ListOptions & { limit: number }>(async (options) => {
        const found = await withBackend(options, (backend) => backend.listSchedules({ limit: options.limit }));
        printSchedules(found, options);
        return undefined;
      }),
    );
  addNext(schedules);
  addRun(schedules);
  addChange(schedules, 'pause', 'stop enqueuing jobs for schedules; jobs already enqueued still run');
  addChange(schedules, 'resume', 'resume enqueuing jobs for schedules, starting with the next tick');
  addScheduleCreate(schedules);
  addScheduleDelete(schedules);
}

function addNext(schedules: Command): void {
  schedules
    .command('next')
    .argument('<schedule>', 'the name of the schedule', scheduleName)
    .description('show the next ticks of a schedule, in its zone and in UTC')
    .option('--count <n>', 'number of ticks', whole(1, 100), 5)
    .addHelpText('after', examples('schedules next nightly-report', 'schedules next nightly-report --count 20 --json'))
    .action(
      action<{ count: number }>(async (options, name: string) => {
        const found = await withBackend(options, (backend) => backend.showSchedule(name, options.count));
        if (found === undefined) throw unknown([name]);
        if (options.json) print(toJson(documentOf(found)));
        else printNext(found);
        return undefined;
      }),
    );
}

function printNext(found: SeenSchedule): void {
  const { schedule, zone, pausedAt, fault, nextTicks } = found;
  if (fault !== null) printMessage(`${schedule} has no ticks: ${fault}`);
  else if (pausedAt !== null) printMessage(`${schedule} is paused: it enqueues nothing until it is resumed`);
  // Without ticks, there is nothing to format, and the fault may be the zone.
  if (nextTicks.length === 0) return;
  const local = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'long',
    hourCycle: 'h23',
  });
  printRows(
    ['LOCAL', 'UTC'],
    nextTicks.map((tick) => [local.format(tick).replace(',', ''), tick]),
  );
}

function addRun(schedules: Command): void {
  schedules
    .command('run')
    .argument('<schedule>', 'the name of the schedule', scheduleName)
    .description('enqueue a job of a schedule now and print its id')
    .addHelpText('after', examples('schedules run nightly-report'))
    .action(
      action(async (options: GlobalOptions, name: string) => {
        const id = await withBackend(options, (backend) => backend.runSchedule(name));
        if (id === undefined) throw unknown([name]);
        print(options.json ? toJson({ schedule: name, job_id: id }) : id);
        suggest(`npx millrace jobs show ${id}`);
        return undefined;
      }),
    );
}

function addChange(schedules: Command, verb: 'pause' | 'resume', description: string): void {
  schedules
    .command(verb)
    .argument('<schedule...>', 'names of schedules', scheduleNames)
    .description(description)
    .addHelpText('after', examples(`schedules ${verb} nightly-report`))
    .action(
      action(async (options: GlobalOptions, names: string[]) => {
        const found = await withBackend(options, async (backend) => {
          const known = await Promise.all(names.map((name) => backend.showSchedule(name, 0)));
          const missing = names.filter((_name, index) => known[index] === undefined);
          if (missing.length > 0) throw unknown(missing);
          for (const name of names)
            await (verb === 'pause' ? backend.pauseSchedule(name) : backend.resumeSchedule(name));
          const changed = await Promise.all(names.map((name) => backend.showSchedule(name, 0)));
          return changed.flatMap((one) => one ?? []);
        });
        printSchedules(found, options);
        if (verb === 'pause') suggest(`npx millrace schedules resume ${names.join(' ')}`);
        return undefined;
      }),
    );
}

function unknown(names: readonly string[]): CommandFailure {
  return new CommandFailure(EXIT.notFound, `no schedule is named ${names.join(', ')}: see npx millrace schedules`);
}

function printSchedules(found: readonly (Schedule | SeenSchedule)[], options: ListOptions): void {
  const items = found.map((one) => ('nextTicks' in one ? documentOf(one) : snakeCase(one)));
  printList(options, items, () => {
    if (found.length === 0)
      printMessage('no schedules exist: declare one in a handler file, or see schedules create --help');
    else printTable(HEADINGS, found.map(toRow));
  });
  if (!options.json && !options.jsonl) explainFaults(found);
}

/** Prints why schedules have no ticks; the next command shows the same for one schedule. */
function explainFaults(found: readonly (Schedule | SeenSchedule)[]): void {
  const faulty = found.filter(({ fault }) => fault !== null);
  for (const { schedule, fault } of faulty.slice(0, MOST_FAULTS)) printMessage(`${schedule} has no ticks: ${fault}`);
  const others = faulty.length - MOST_FAULTS;
  if (others > 0) printMessage(`${others} more have no ticks: see npx millrace schedules next <schedule>`);
}

function toRow({ schedule, cron, everySeconds, zone, state, lastTickAt, lastJobId, ...rest }: Schedule) {
  const job = lastJobId === null ? '-' : `${lastJobId} ${rest.lastJobStatus ?? 'deleted'}`;
  const when = cron ?? `every ${everySeconds} s`;
  return [schedule, handlerName(rest), when, zone, state, lastTickAt ?? '-', job, rest.nextTickAt ?? '-'];
}

function documentOf({ payload, ...schedule }: SeenSchedule): Record<string, unknown> {
  return {
    ...snakeCase(schedule),
    payload: payload === undefined ? undefined : exactJson(payload),
    ...(payload === undefined && { payload_restricted: true }),
  };
}
