import { commandLines, readDocument, section } from './documents.ts';

const chapter = section(readDocument('README.md'), 'When a job fails');
const [breaking = [], mending = [], again = [], giveUp = []] = chapter.blocks
  .filter(({ language }) => language === 'sh')
  .map((block) => commandLines({ ...chapter, blocks: [block] }));
/** The command blocks of the README, in order. */
export const walk = { breaking, mending, again, giveUp };
/** The script that the README saves as `sqs.mjs`. */
export const script = chapter.blocks.find(({ language }) => language === 'js')?.code ?? '';

const page = readDocument('docs/dead-letters.md');
const doors = linesOf('Ways to redrive');
const isDiscard = (line: string) => /discard|delete from/.test(line);

/** The documented filter keys of `millrace.start_redrive`. */
export const filterKeys = rowsBelow('| key | |').map((line) => line.split('`')[1]);

/** The settings that a line requires to reach SQS. */
export const settings = commandLines(page).filter((line) => line.startsWith('export '));
export const looks = linesOf('Where to see dead letters');
export const discards = doors.filter(isDiscard);
export const redrives = doors.filter((line) => !isDiscard(line) && !/--dry-run|operations|list-/.test(line));
/** The lines that only show redrives. */
export const others = doors.filter((line) => !discards.includes(line) && !redrives.includes(line));

/** Whether the line starts a move task, which may have to be repeated: a task leaves messages that arrive later. */
export function isMoveTask(line: string): boolean {
  return /start-message-move-task|--via-sqs/.test(line);
}

function rowsBelow(heading: string): string[] {
  const lines = page.text.split('\n');
  const rows = lines.slice(lines.indexOf(heading) + 2);
  return rows.slice(0, rows.indexOf(''));
}

function linesOf(heading: string): string[] {
  return commandLines(section(page, heading)).filter((line) => !line.startsWith('export '));
}
