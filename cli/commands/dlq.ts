import type { Command } from 'commander';
import { examples } from '../options/action.ts';
import { addDlqDiscard } from './dlq-discard.ts';
import { addDlqExport } from './dlq-export.ts';
import { addDlqGroups } from './dlq-groups.ts';
import { addDlqList } from './dlq-list.ts';
import { addDlqShow } from './dlq-show.ts';

/** `millrace dlq [groups] | list | show | discard | export` */
export function addDlq(program: Command): void {
  const dlq = program.command('dlq').description('show, discard or export dead letters');
  dlq.addHelpText('after', examples('dlq', 'dlq list --since 1h', 'dlq show 42', 'dlq export --all > dead.jsonl'));
  for (const add of [addDlqGroups, addDlqList, addDlqShow, addDlqDiscard, addDlqExport]) add(dlq);
}
