import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { checkNames } from '../../core/enqueue/enqueue-options.ts';
import { defineHandler } from '../../core/handler/handler.ts';
import { suggestStatus } from '../../core/handler/other-words.ts';
import { retry } from '../../core/handler/retry-policy.ts';
import { READ } from '../../core/handler/unread-variables.ts';
import { VARIABLES } from '../../core/handler/variables.ts';
import { LIVE_STATUSES } from '../../core/job.ts';
import { PROMETHEUS_METRICS } from '../../core/numbers/metric-table.ts';
import { runCli } from '../cli/run-cli.ts';
import { inlineCode, readDocument, section, tableBelow } from './documents.ts';

const page = readDocument('docs/coming-from.md');
const codes = inlineCode(page);
const wordsIn = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, word]) => word as string);
const bare = (word: string) => word.toLowerCase().replaceAll('_', '');
const statuses = [...LIVE_STATUSES, 'succeeded', 'cancelled', 'skipped'];

/** Returns the rows of a table as the word in its first column and those in the others. */
function wordsBelow(heading: string) {
  return tableBelow(page, heading).map(([first, ...others]) => ({
    ours: wordsIn(first)[0] as string,
    theirs: [...new Set(others.flatMap(wordsIn))],
  }));
}

/** The error of an option that a handler does not have, and of one that a job does not have; empty if it has it. */
function refusals(option: string): string[] {
  const least = { jobType: 'work', payload: z.object({}), run: async () => undefined };
  return [() => defineHandler({ ...least, [option]: 1 }), () => checkNames({ [option]: 1 }, '')].map((use) => {
    try {
      use();
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  });
}

describe('the words of other job systems', () => {
  const options = wordsBelow('Options');
  const foreign = options.flatMap(({ ours, theirs }) => {
    return theirs.filter((word) => bare(word) !== bare(ours)).map((word) => [word, ours] as const);
  });

  it.each(foreign)('the option %s is answered with %s', (word, ours) => {
    expect(refusals(word).join('\n')).toMatch(new RegExp(`did you mean ${ours}\\b`));
  });

  it.each(options)('$ours is an option of a handler or of a job', ({ ours }) => {
    expect(refusals(ours).map((message) => /unknown option/.test(message))).toContain(false);
  });

  const answers = wordsBelow('Statuses').flatMap(({ ours, theirs }) => {
    return theirs.filter((word) => !statuses.includes(word)).map((word) => [word, ours] as const);
  });

  it.each(answers)('the status %s is answered with %s', (word, ours) => {
    expect(suggestStatus(word)).toBe(`; did you mean ${ours}?`);
  });

  it('the tables name every status, and enough words to be worth a table', () => {
    expect(wordsBelow('Statuses').map(({ ours }) => ours)).toEqual(statuses.toSorted(byPage));
    expect(foreign.length).toBeGreaterThan(30);
    expect(answers.length).toBeGreaterThan(20);
  });

  const stated = /\n\| you write \|.*\n\|---\|---\|\n([\s\S]+?)\n\n/.exec(page.text)?.[1]?.split('\n') ?? [];

  it.each(stated.map(wordsIn))('the refusal of %s is the one that the page states', (word = '', ...others) => {
    const [forHandler, forJob] = refusals(word);
    const status = suggestStatus(word.split('?status=')[1]);

    const answer = status || (others[0] === 'enqueue' ? forJob : forHandler);

    expect(answer).toMatch(/; .+/);
    expect(answer?.endsWith(`; ${others.at(-1)}`)).toBe(true);
  });

  it('the page states four refusals', () => {
    expect(stated).toHaveLength(4);
  });
});

function byPage(one: string, other: string): number {
  return page.text.indexOf(`\n| \`${one}\` |`) - page.text.indexOf(`\n| \`${other}\` |`);
}

const SYSTEMS = ['pg-boss', 'graphile-worker', 'BullMQ', 'Sidekiq', 'Celery', 'Procrastinate'];

describe('the systems on the page', () => {
  it('are the columns of the tables', () => {
    const headers = [...page.text.matchAll(/^\| here \| (.+) \|$/gm)].map(([, names = '']) => names.split(' | '));

    // graphile-worker has no column of a status.
    const withStatus = SYSTEMS.filter((name) => name !== 'graphile-worker');
    expect(headers).toEqual([SYSTEMS, [...withStatus, 'tables of your own']]);
  });

  it.each(SYSTEMS)('%s has a section with a table, the code there and the handler here', (name) => {
    const [, heading = ''] = new RegExp(`^## (${name} [\\d.]+)$`, 'm').exec(page.text) ?? [];

    const { text, blocks } = section(page, heading);

    expect(tableBelow(page, heading).length).toBeGreaterThan(6);
    expect(blocks).toHaveLength(2);
    expect(blocks[1]?.code).toMatch(/^\/\/ jobs\/[\w-]+\.ts\nimport .*defineHandler/);
    expect(text).toContain('\nNot available: ');
  });

  it('a table of your own has its columns, settings, metrics and queries', () => {
    const { text, blocks } = section(page, 'A table of your own');

    const headers = [...text.matchAll(/^\| (\w+) there \| here \|$/gm)].map(([, what]) => what);

    expect(headers).toEqual(['column', 'setting', 'metric']);
    expect(text).toMatch(/outbox, `background_jobs` or `failed_jobs`/);
    for (const pair of [
      ['`max_retries` *n*', '`max_attempts` *n* + 1'],
      ['`jobs_total{status="delivered"}`', '`millrace_job_events_total{event="succeeded"}`'],
      ['`jobs_total{status="failed"}`, permanent', '`millrace_job_events_total{event="dead_lettered"}`'],
    ]) {
      expect(text).toContain(`| ${pair.join(' | ')} |`);
    }
    expect(text).toMatch(/\| a deferral: .* \| a row of `millrace\.job_attempts`/);
    expect(blocks.map(({ language }) => language)).toEqual(['sql', 'sql']);
  });
});

describe('our words on the page', () => {
  it('names only metrics, variables and policies that exist', () => {
    const metrics = codes.flatMap((code) => code.match(/millrace_\w+/g) ?? []);
    const variables = codes.flatMap((code) => code.match(/MILLRACE_\w+/g) ?? []);
    const policies = codes.flatMap((code) => [...code.matchAll(/\bretry\.(\w+)/g)].map(([, name]) => name));
    const roles = ['millrace_app', 'millrace_operator'];

    expect(metrics.filter((name) => !roles.includes(name) && !Object.hasOwn(PROMETHEUS_METRICS, name))).toEqual([]);
    expect(metrics.length).toBeGreaterThan(5);
    expect(variables.filter((name) => ![...READ, ...Object.values(VARIABLES)].includes(name))).toEqual([]);
    expect(policies.filter((name) => !Object.hasOwn(retry, name as string))).toEqual([]);
  });

  it('names only commands that exist', async () => {
    const commands = [...new Set(codes.flatMap((code) => /^npx millrace ([a-z ]+)/.exec(code)?.[1]?.trim() ?? []))];

    const ended = [];
    for (const command of commands) ended.push(await runCli([...command.split(' '), '--help']));

    expect(commands.length).toBeGreaterThan(6);
    const usages = ended.map(({ stdout }) => /Usage: (?:npx )?millrace ([a-z ]+)/.exec(stdout)?.[1]?.trim());
    expect(usages).toEqual(commands);
  });

  it('a number of retries there is one less than the maxAttempts beside it', () => {
    const places = [...page.text.split('\n'), ...page.text.split('\n## ')];

    const pairs = places.flatMap((place) => {
      const theirs = /(?:retryLimit|max_retries|retry)(?:: |=)(\d+)/.exec(place)?.[1];
      const ours = /maxAttempts: (\d+)/.exec(place)?.[1];
      return theirs !== undefined && ours !== undefined ? [Number(ours) - Number(theirs)] : [];
    });

    expect(pairs.length).toBeGreaterThan(7);
    expect(new Set(pairs)).toEqual(new Set([1]));
  });

  it.each(['BullMQ 6', 'graphile-worker 0.17'])('the numbers of attempts in the code of %s are equal', (heading) => {
    const [theirs, ours] = section(page, heading).blocks.map(({ code }) => /[aA]ttempts: (\d+)/.exec(code)?.[1]);

    expect(theirs).toBeDefined();
    expect(ours).toBe(theirs);
  });
});
