import type { Command } from 'commander';
import type { RedriveOperation } from '../../core/dead-letters/redrive-operation.ts';
import { withBackend } from '../backend/open.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import { action, examples } from '../options/action.ts';
import { addDefault } from '../options/default-command.ts';
import { rowNumber, whole } from '../options/values.ts';
import { filterFlags } from '../redrive/filter-flags.ts';
import { snakeCase, toJson } from '../screen/json.ts';
import { addJsonLines, type ListOptions, printList } from '../screen/json-lines.ts';
import { print, printMessage, printPairs, printTable, suggest } from '../screen/terminal.ts';

const HEADINGS = ['REDRIVE', 'STATUS', 'MOVED', 'OF', 'LEFT DEAD', 'RATE', 'BY', 'STARTED', 'FINISHED', 'FILTER'];

/** `millrace redrives list | show | cancel` */
export function addRedrives(program: Command): void {
  const redrives = program.command('redrives').description('list, show and cancel redrives');
  redrives.addHelpText('after', examples('redrives', 'redrives show 7', 'redrives cancel 7'));
  addJsonLines(addDefault(redrives, 'list'))
    .description('list redrives, newest first')
    .addHelpText('after', examples('redrives', 'redrives --limit 5 --json'))
    .option('--limit <n>', 'maximum number of redrives', whole(1, 10_000), 20)
    .action(
      action<ListOptions & { limit: number }>(async (options) => {
        const found = await withBackend(options, (backend) => backend.listRedrives({ limit: options.limit }));
        printList(options, found.map(snakeCase), () => {
          if (found.length === 0) printMessage('no redrives exist');
          else printTable(HEADINGS, found.map(toRow));
        });
        const running = found.find(({ status }) => status === 'running');
        if (running) suggest(`npx millrace redrives cancel ${running.id}`);
        return undefined;
      }),
    );
  addOne(redrives, 'show', 'show the state of a redrive');
  addOne(redrives, 'cancel', 'cancel a running redrive; jobs already moved are not moved back');
}

function addOne(redrives: Command, verb: 'show' | 'cancel', description: string): void {
  redrives
    .command(verb)
    .argument(
      '<redrive>',
      'the number of the redrive, as shown by redrives',
      rowNumber('the number of a redrive, such as 7'),
    )
    .description(description)
    .addHelpText('after', examples(`redrives ${verb} 7`))
    .action(
      action<object>(async (options, id: string) => {
        const { found, cancelled } = await withBackend(options, async (backend) => ({
          cancelled: verb === 'cancel' && (await backend.cancelRedrive(id)),
          found: await backend.readRedrive(id),
        }));
        if (found === undefined)
          throw new CommandFailure(EXIT.notFound, `redrive ${id} does not exist: see npx millrace redrives`);
        if (verb === 'cancel' && !cancelled) {
          if (found.status !== 'done')
            throw new CommandFailure(EXIT.conflict, `redrive ${id} is not running: it is ${found.status}`);
          printMessage(`redrive ${id} is done: it had moved all that it can`);
        }
        if (options.json) print(toJson(snakeCase(found)));
        else printAnswer(found);
        return undefined;
      }),
    );
}

function printAnswer(redrive: RedriveOperation): void {
  const [, , , , , rate] = toRow(redrive);
  printPairs([
    ['redrive', redrive.id],
    ['status', redrive.status],
    ['moved', `${redrive.done} of ${redrive.expected}`],
    ['left dead', redrive.skipped || null],
    ['rate', rate],
    ['filter', filterFlags(redrive.filter)],
    ['by', redrive.requestedBy],
    ['started', redrive.createdAt],
    ['finished', redrive.finishedAt],
  ]);
}

function toRow({
  id,
  status,
  done,
  expected,
  skipped,
  ratePerSecond,
  filter,
  requestedBy,
  createdAt,
  finishedAt,
}: RedriveOperation) {
  const rate = ratePerSecond === null ? 'unlimited' : `${ratePerSecond}/s`;
  // A cancelled redrive has no count of the jobs that it left.
  const left = status === 'done' ? skipped : '-';
  return [id, status, done, expected, left, rate, requestedBy, createdAt, finishedAt ?? '-', filterFlags(filter)];
}
