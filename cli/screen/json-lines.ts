import { type Command, Option } from 'commander';
import type { GlobalOptions } from '../global-options.ts';
import { toJson } from './json.ts';
import { print, say } from './terminal.ts';

/** What a command can be told that answers a list. */
export interface ListOptions extends GlobalOptions {
  readonly jsonl?: boolean;
  readonly limit?: number;
}

/** Gives a command `--jsonl`. */
export function addJsonLines(command: Command): Command {
  return command.option('--jsonl', 'the items only, a JSON document a line').hook('preAction', (_command, asked) => {
    const { json, jsonl } = asked.optsWithGlobals<ListOptions>();
    if (json && jsonl) asked.error('--json or --jsonl, not both: one document, or a document a line');
  });
}

/** Has every other command say what is wrong with `--jsonl`, and not only that it knows no such option. */
export function refuseJsonLines(command: Command): void {
  for (const child of command.commands) refuseJsonLines(child);
  if (command.commands.length > 0 || command.options.some(({ long }) => long === '--jsonl')) return;
  command.addOption(new Option('--jsonl').hideHelp());
  command.on('option:jsonl', () => {
    const { parent } = command;
    const name = parent?.parent ? `${parent.name()} ${command.name()}` : command.name();
    command.error(`${name} answers no list, and --jsonl prints the items of one`);
  });
}

/** Prints a list as it was asked for: as JSON, with `more` beside the items, a line an item, or as `show` does. */
export function printList(
  options: ListOptions,
  items: readonly object[],
  show: () => void,
  more: Readonly<Record<string, unknown>> = {},
): void {
  if (options.jsonl) for (const item of items) print(toJson(item));
  else if (options.json) print(toJson({ items, ...more }));
  else show();
  if (items.length === options.limit) say(`${items.length} are shown, as --limit says: there may be more`);
}
