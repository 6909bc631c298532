import type { Command } from 'commander';
import { deadLetterDocument } from '../backend/documents.ts';
import { withBackend } from '../backend/open.ts';
import { action, examples } from '../options/action.ts';
import { addFilterOptions, type FilterOptions, pinFilter, requireChoice, toFilter } from '../options/filter-options.ts';
import { toJson } from '../screen/json.ts';
import { addJsonLines } from '../screen/json-lines.ts';
import { counted } from '../screen/progress.ts';
import { printAll, printHint } from '../screen/terminal.ts';

/** `millrace dlq export` */
export function addDlqExport(dlq: Command): void {
  addJsonLines(addFilterOptions(dlq.command('export')))
    .description('print dead letters as JSON, one per line, oldest first, with payload, error and stack')
    .option('--all', 'every dead letter')
    .addHelpText('after', examples('dlq export --all > dead.jsonl', 'dlq export --group 7f3ac01b > dead.jsonl'))
    .addHelpText('after', '\nThe output is the same with --json, with --jsonl and without either.')
    .action(
      action<FilterOptions & { all?: boolean }>(async (options) => {
        const filter = toFilter(options);
        requireChoice(filter, options.all);
        let lines = 0;
        await withBackend(options, async (backend) => {
          for await (const letter of backend.exportDeadLetters(await pinFilter(backend, filter))) {
            await printAll(toJson(deadLetterDocument(letter)));
            lines += 1;
          }
        });
        printHint(counted(lines, 'dead letter'));
        return undefined;
      }),
    );
}
