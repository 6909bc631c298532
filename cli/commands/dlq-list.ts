import type { Command } from 'commander';
import { type ListedDeadLetter, listedDocument } from '../../core/dead-letters/list-dead-letters.ts';
import { withBackend } from '../backend/open.ts';
import { action, examples } from '../options/action.ts';
import { addFilterOptions, type FilterOptions, pinFilter, shortGroup, toFilter } from '../options/filter-options.ts';
import { whole } from '../options/values.ts';
import { jobOf } from '../redrive/named-jobs.ts';
import { addJsonLines, type ListOptions, printList } from '../screen/json-lines.ts';
import { firstLine, printMessage, printTable, suggest } from '../screen/terminal.ts';
import { explainNoMatch } from './similar-handlers.ts';

const HEADINGS = ['ID', 'HANDLER', 'ATTEMPTS', 'DIED', 'IN DLQ', 'GROUP', 'ERROR'];

/** `millrace dlq list` */
export function addDlqList(dlq: Command): void {
  addJsonLines(addFilterOptions(dlq.command('list')))
    .description('list dead letters, newest first; messages without a job are listed as strays, with a number')
    .option('--limit <n>', 'maximum number of dead letters', whole(1, 10_000), 20)
    .addHelpText(
      'after',
      examples('dlq list', "dlq list --job-type send_reminder --error 'refused'", 'dlq list --since 1h --json'),
    )
    .action(
      action<FilterOptions & ListOptions & { limit: number }>(async (options) => {
        const { found, reason } = await withBackend(options, async (backend) => {
          const letters = await backend.listDeadLetters(await pinFilter(backend, toFilter(options)), options.limit);
          return { found: letters, reason: letters[0] ? '' : await explainNoMatch(backend, options.jobType) };
        });
        printList(options, found.map(listedDocument), () => show(found, reason));
        return undefined;
      }),
    );
}

function show(letters: readonly ListedDeadLetter[], reason: string): void {
  const [first] = letters;
  if (first === undefined) {
    printMessage(`no dead letter matches${reason}`);
    return;
  }
  printTable(HEADINGS, letters.map(toRow));
  suggest(`npx millrace dlq show ${first.jobId ?? `--stray ${first.id}`}`);
}

function toRow(letter: ListedDeadLetter) {
  const { id, jobId, attempts, maxAttempts, diedAt, firstSeenAt, fingerprint, lastError } = letter;
  const count = attempts === null ? '-' : `${attempts}/${maxAttempts}`;
  const seen = firstSeenAt ?? '-';
  return [jobId ?? `stray ${id}`, jobOf(letter), count, diedAt, seen, shortGroup(fingerprint), firstLine(lastError)];
}
