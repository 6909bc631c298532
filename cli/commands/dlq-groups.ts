import type { Command } from 'commander';
import type { DeadLetterGroup } from '../../core/dead-letters/group-dead-letters.ts';
import { withBackend } from '../backend/open.ts';
import { EXIT } from '../command-failure.ts';
import { action, examples } from '../options/action.ts';
import { addDefault } from '../options/default-command.ts';
import {
  addAddressOptions,
  addTimeOptions,
  type FilterOptions,
  pinFilter,
  shortGroup,
  toFilter,
} from '../options/filter-options.ts';
import { whole } from '../options/values.ts';
import { addJsonLines, type ListOptions, printList } from '../screen/json-lines.ts';
import { count, counted } from '../screen/progress.ts';
import { firstLine, printMessage, printTable, suggest } from '../screen/terminal.ts';
import { explainNoMatch } from './similar-handlers.ts';

interface GroupsOptions extends FilterOptions, ListOptions {
  readonly limit: number;
  readonly failIfAny?: boolean;
}

const HEADINGS = ['GROUP', 'JOBS', 'SHARE', 'HANDLER', 'ERROR', 'FIRST', 'LAST'];

/** `millrace dlq groups`, and plain `millrace dlq` */
export function addDlqGroups(dlq: Command): void {
  addJsonLines(addTimeOptions(addAddressOptions(addDefault(dlq, 'groups')), 'died'))
    .description('count dead letters by kind of error, largest group first (the default subcommand)')
    .option('--limit <n>', 'maximum number of groups', whole(1, 10_000), 50)
    .option('--fail-if-any', 'exit with code 8 if any dead letter matches')
    .addHelpText('after', examples('dlq', 'dlq groups --since 1h', 'dlq --fail-if-any --json'))
    .action(
      action<GroupsOptions>(async (options) => {
        const { groups, reason } = await withBackend(options, async (backend) => {
          const found = await backend.groupDeadLetters(await pinFilter(backend, toFilter(options)), options.limit);
          return { groups: found, reason: found[0] ? '' : await explainNoMatch(backend, options.jobType) };
        });
        printList(options, groups.map(toDocument), () => show(groups, reason), { total: groups[0]?.total ?? 0 });
        return options.failIfAny && groups.length > 0 ? EXIT.checkFailed : EXIT.done;
      }),
    );
}

function toDocument(group: DeadLetterGroup): Record<string, unknown> {
  const { fingerprint, jobs, total, handlers, lastError, firstDiedAt, lastDiedAt } = group;
  return {
    group: fingerprint === null ? null : shortGroup(fingerprint),
    ...{ fingerprint, jobs, share: jobs / total, handlers, error: lastError },
    ...{ first_died_at: firstDiedAt, last_died_at: lastDiedAt },
  };
}

function show(groups: readonly DeadLetterGroup[], reason: string): void {
  const [first] = groups;
  if (first === undefined) {
    printMessage(`no dead letter matches${reason}`);
    return;
  }
  printTable(HEADINGS, groups.map(toRow));
  if (first.groups > groups.length)
    printMessage(`${counted(first.groups - groups.length, 'smaller group')} not shown: raise --limit`);
  if (first.fingerprint === null) suggest('npx millrace dlq list');
  else suggest(`npx millrace dlq show ${shortGroup(first.fingerprint)}`);
}

function toRow({ fingerprint, jobs, total, handlers, lastError, firstDiedAt, lastDiedAt }: DeadLetterGroup) {
  const share = `${Math.round((100 * jobs) / total)} %`;
  const names = handlers.map((name) => name || '-').join(', ');
  return [shortGroup(fingerprint), count(jobs), share, names, firstLine(lastError), firstDiedAt, lastDiedAt];
}
