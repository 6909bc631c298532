import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import { type HandlerAddress, handlerName } from '../../core/handler/naming.ts';
import type { RegisteredHandler } from '../../core/registry/list-handlers.ts';
import type { Backend } from '../backend/backend.ts';
import { withBackend } from '../backend/open.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { action, examples } from '../options/action.ts';
import { addDefault } from '../options/default-command.ts';
import { snakeCase } from '../screen/json.ts';
import { addJsonLines, type ListOptions, printList } from '../screen/json-lines.ts';
import { timeText } from '../screen/table.ts';
import { printHint, printMessage, printTable, suggest } from '../screen/terminal.ts';

const HEADINGS = 'HANDLER,STATE,IN FLIGHT,PENDING,RUNNING,FAILED,DEAD,TIMEOUT,ATTEMPTS,DEPLOYED'.split(',');
const NAME = /^([a-z][a-z0-9_]*)(?:\.([a-z][a-z0-9_]*))?$/;

/** `millrace handlers [list] | pause | resume` */
export function addHandlers(program: Command): void {
  const handlers = program.command('handlers').description('list, pause and resume handlers');
  handlers.addHelpText('after', examples('handlers', 'handlers pause send_reminder', 'handlers resume send_reminder'));
  addJsonLines(addDefault(handlers, 'list'))
    .description('list deployed handlers with their states and job counts')
    .addHelpText('after', examples('handlers', 'handlers --jsonl'))
    .action(
      action<ListOptions>(async (options) => {
        const found = await withBackend(options, (backend) => backend.listHandlers());
        printAnswer(found, options);
        return undefined;
      }),
    );
  addChange(handlers, 'pause', 'stop claiming jobs for handlers; jobs in flight finish', (backend, address) =>
    backend.pauseHandler(address),
  );
  addChange(handlers, 'resume', 'claim jobs for handlers again', (backend, address) => backend.resumeHandler(address));
}

function addChange(
  handlers: Command,
  verb: 'pause' | 'resume',
  description: string,
  change: (backend: Backend, address: HandlerAddress) => Promise<void>,
): void {
  handlers
    .command(verb)
    .argument('<handler...>', 'handlers, such as send_reminder, or index_record.vector with a routing key', addresses)
    .description(description)
    .addHelpText('after', examples(`handlers ${verb} send_reminder`))
    .action(
      action(async (options: GlobalOptions, wanted: HandlerAddress[]) => {
        const found = await withBackend(options, async (backend) => {
          const known = await Promise.all(wanted.map((address) => backend.listHandlers(address)));
          const missing = wanted.filter((_address, index) => known[index]?.length === 0).map(handlerName);
          if (missing.length > 0) {
            throw new CommandFailure(EXIT.notFound, `not deployed: ${missing.join(', ')}; see npx millrace handlers`);
          }
          for (const address of wanted) await change(backend, address);
          return (await Promise.all(wanted.map((address) => backend.listHandlers(address)))).flat();
        });
        printAnswer(found, options);
        if (verb === 'pause') suggest(`npx millrace handlers resume ${wanted.map(handlerName).join(' ')}`);
        return undefined;
      }),
    );
}

function printAnswer(handlers: readonly RegisteredHandler[], options: ListOptions): void {
  printList(options, handlers.map(snakeCase), () => {
    if (handlers.length === 0) printMessage('no handlers are deployed; add a file to the handlers folder');
    else printTable(HEADINGS, handlers.map(toRow));
    const [first] = handlers;
    if (first) printHint(first.countedAt ? `Counted at ${timeText(first.countedAt)}` : 'Not counted yet');
  });
}

function toRow(handler: RegisteredHandler) {
  const { inFlight, maxInFlight, jobs, timeoutSeconds, maxAttempts, deployedAt } = handler;
  const flight = `${inFlight} of ${maxInFlight}`;
  const counts = (['pending', 'running', 'failed', 'dead_letter'] as const).map((status) => jobs?.[status] ?? '-');
  return [handlerName(handler), stateOf(handler), flight, ...counts, `${timeoutSeconds} s`, maxAttempts, deployedAt];
}

function stateOf({ pausedAt, heldUntil, holdReason }: RegisteredHandler): string {
  if (pausedAt !== null) return `paused since ${timeText(pausedAt)}`;
  if (heldUntil !== null) return `held until ${timeText(heldUntil)}: ${holdReason}`;
  return 'open';
}

function addresses(text: string, before: readonly HandlerAddress[] = []): HandlerAddress[] {
  const [, jobType, routingKey = ''] = NAME.exec(text) ?? [];
  if (jobType === undefined) {
    throw new InvalidArgumentError('Expected a handler such as send_reminder, or index_record.vector.');
  }
  return [...before, { jobType, routingKey }];
}
