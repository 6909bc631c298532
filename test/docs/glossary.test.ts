import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { LIVE_STATUSES } from '../../core/job.ts';
import { LOG_EVENTS } from '../../core/log-table.ts';
import { ROOT, readDocument } from './documents.ts';

const { text } = readDocument('docs/glossary.md');
const [table = '', after = ''] = text.split(/\n\n(?=Statuses:)/);
const rows = [...table.matchAll(/^\| ([^|]+) \| ([^|]+) \| ([^|]*)\|$/gm)].slice(2);
const defined: readonly string[] = rows.flatMap(([, words = '']) => words.toLowerCase().match(/[a-z]+/g) ?? []);

const namesIn = (sentence: string) => [...(paragraph(sentence).matchAll(/`(\w+)`/g) ?? [])].map(([, name]) => name);
/** Words of log events and column headings that have only their plain sense, so that the page need not define them. */
const PLAIN_WORDS = `
  advanced ahead answer applied batch by changed connection covered created database deployed died dlq done error
  expires filter finished first from given http id in invalid last local lost maintain make message messages metrics
  migration migrations missing movable move moved name next no not nudge of ours prepared queue rate redriven refused
  request rescued scopes send sent share shared snoozed state status subject tasks timeout unexpected unhandled
  unknown unreadable unstarted up used utc visible waiting when zone`;
const plain: readonly string[] = PLAIN_WORDS.match(/[a-z]+/g) ?? [];

function paragraph(start: string): string {
  return after.split('\n\n').find((one) => one.startsWith(start)) ?? '';
}

function isKnown(word: string): boolean {
  const stems = [
    word,
    word.replace(/s$/, ''),
    word.replace(/ed$/, ''),
    word.replace(/d$/, ''),
    word.replace(/ing$/, ''),
  ];
  return stems.some((stem) => defined.includes(stem)) || plain.includes(word) || namesIn('Statuses').includes(word);
}

it('docs/glossary.md names every status, outcome and step', () => {
  const source = readFileSync(join(ROOT, 'core/run/decide.ts'), 'utf8');
  const steps = [...(/type Step =([^;]+);/.exec(source)?.[1]?.matchAll(/'(\w+)'/g) ?? [])].map(([, step]) => step);

  expect(namesIn('Statuses')).toEqual([...LIVE_STATUSES, 'succeeded', 'skipped', 'cancelled']);
  expect(namesIn('Outcomes').toSorted()).toEqual(outcomes().toSorted());
  expect(namesIn('Steps')).toEqual(steps);
});

function outcomes(): string[] {
  const source = readFileSync(join(ROOT, 'core/outcome.ts'), 'utf8');
  const union = /type Outcome =([\s\S]+?);\n\n/.exec(source)?.[1] ?? '';
  return [...union.matchAll(/kind: ([^;]+);/g)].flatMap(([, kinds = '']) => kinds.match(/\w+/g) ?? []);
}

const inEvents = Object.keys(LOG_EVENTS).flatMap((event) => event.split('_'));
const sources = globSync('cli/**/*.ts', { cwd: ROOT }).map((file) => readFileSync(join(ROOT, file), 'utf8'));
const lists = sources.flatMap((source) => source.match(/\[(?:'[A-Z]{2}[A-Z ]*'(?:, )?){2,}\]/g) ?? []);
const inHeadings =
  lists
    .join(' ')
    .toLowerCase()
    .match(/[a-z]+/g) ?? [];

it('docs/glossary.md defines every word of the log events and column headings that is not plain', () => {
  expect(lists.length).toBeGreaterThan(8);
  expect([...inEvents, ...inHeadings].filter((word) => !isKnown(word))).toEqual([]);
});

it('every plain word is used by a log event or a column heading', () => {
  expect(plain.filter((word) => ![...inEvents, ...inHeadings].includes(word))).toEqual([]);
});

it('docs/glossary.md fits one screen', () => {
  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(60);
});
