import type { Command } from 'commander';
import type { Operation, OperationVerb } from '../../core/operations/operation.ts';
import { withBackend } from '../backend/open.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import { leftOf, operationFlags, printOperation } from '../operations/print-operation.ts';
import { action, examples } from '../options/action.ts';
import { addDefault } from '../options/default-command.ts';
import { rowNumber, whole } from '../options/values.ts';
import { snakeCase, toJson } from '../screen/json.ts';
import { addJsonLines, type ListOptions, printList } from '../screen/json-lines.ts';
import { print, printMessage, printTable, suggest } from '../screen/terminal.ts';

const HEADINGS = ['OPERATION', 'KIND', 'STATUS', 'CHANGED', 'OF', 'LEFT', 'BY', 'STARTED', 'FINISHED', 'FILTER'];

/** `millrace operations list | show | pause | resume | cancel` */
export function addOperations(program: Command): void {
  const operations = program
    .command('operations')
    .description('list, show, pause, resume and cancel changes of many jobs, and redrives');
  operations.addHelpText('after', examples('operations', 'operations show 7', 'operations pause 7'));
  addJsonLines(addDefault(operations, 'list'))
    .description('list operations and redrives, newest first')
    .addHelpText('after', examples('operations', 'operations --limit 5 --json'))
    .option('--limit <n>', 'maximum number of operations', whole(1, 10_000), 20)
    .action(
      action<ListOptions & { limit: number }>(async (options) => {
        const found = await withBackend(options, (backend) => backend.listOperations({ limit: options.limit }));
        printList(options, found.map(snakeCase), () => {
          if (found.length === 0) printMessage('no operations exist');
          else printTable(HEADINGS, found.map(toRow));
        });
        const running = found.find(({ status }) => status === 'running');
        if (running) suggest(`npx millrace operations pause ${running.id}`);
        return undefined;
      }),
    );
  addOne(operations, 'show', 'show the state of an operation');
  addOne(operations, 'pause', 'pause a running operation');
  addOne(operations, 'resume', 'resume a paused operation');
  addOne(operations, 'cancel', 'cancel an operation; changed jobs stay changed');
}

function addOne(operations: Command, verb: OperationVerb | 'show', description: string): void {
  operations
    .command(verb)
    .argument('<operation>', 'the number of the operation, as shown by operations', rowNumber('a number such as 7'))
    .description(description)
    .addHelpText('after', examples(`operations ${verb} 7`))
    .action(
      action<object>(async (options, id: string) => {
        const { found, changed } = await withBackend(options, async (backend) => ({
          changed: verb === 'show' || (await backend.controlOperation(id, verb)),
          found: await backend.readOperation(id),
        }));
        if (found === undefined)
          throw new CommandFailure(EXIT.notFound, `operation ${id} does not exist: see npx millrace operations`);
        if (!changed) throw new CommandFailure(EXIT.conflict, `operation ${id} is ${found.status}`);
        if (options.json) print(toJson(snakeCase(found)));
        else printOperation(found);
        return undefined;
      }),
    );
}

function toRow(operation: Operation) {
  const { id, kind, status, done, expected, requestedBy, createdAt, finishedAt, filter } = operation;
  const left = leftOf(operation) || '-';
  return [
    ...[id, kind, status, done, expected ?? '-', left, requestedBy],
    ...[createdAt, finishedAt ?? '-', operationFlags(filter)],
  ];
}
