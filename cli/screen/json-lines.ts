import { type Command, Option } from 'commander';
import type { GlobalOptions } from '../global-options.ts';
import { toJson } from './json.ts';
import { print, printHint, printMessage } from './terminal.ts';

/** The options of a command that prints a list. */
export interface ListOptions extends GlobalOptions {
  readonly jsonl?: boolean;
  readonly limit?: number;
  /** Whether a person gave `--limit`. */
  readonly limitGiven?: boolean;
}

/** Adds `--jsonl` to a command. */
export function addJsonLines(command: Command): Command {
  return command
    .option('--jsonl', 'print only the items, one JSON document per line')
    .hook('preAction', (_command, asked) => {
      const { json, jsonl } = asked.optsWithGlobals<ListOptions>();
      if (json && jsonl) asked.error('use --json or --jsonl, not both: one document, or one document per line');
      asked.setOptionValue('limitGiven', asked.getOptionValueSource('limit') === 'cli');
    });
}

/** Makes every other command explain why it rejects `--jsonl`, instead of reporting an unknown option. */
export function refuseJsonLines(command: Command): void {
  for (const child of command.commands) refuseJsonLines(child);
  if (command.commands.length > 0 || command.options.some(({ long }) => long === '--jsonl')) return;
  command.addOption(new Option('--jsonl').hideHelp());
  command.on('option:jsonl', () => {
    const { parent } = command;
    const name = parent?.parent ? `${parent.name()} ${command.name()}` : command.name();
    command.error(`${name} does not print a list: --jsonl is for lists only`);
  });
}

/**
 * Prints a list as one JSON document with `more` beside the items, as one line per item, or by `show`. A list with a
 * `total` in `more` itself reports what it omits.
 */
export function printList(
  options: ListOptions,
  items: readonly object[],
  show: () => void,
  more: Readonly<Record<string, unknown>> = {},
): void {
  if (options.jsonl) for (const item of items) print(toJson(item));
  else if (options.json) print(toJson({ items, ...more }));
  else show();
  if (items.length !== options.limit || 'total' in more) return;
  if (options.limitGiven) printMessage(`showing the first ${items.length}, the value of --limit; there may be more`);
  else printHint(`Showing the first ${items.length}; to see more, use --limit.`);
}
