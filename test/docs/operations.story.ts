import { afterAll, beforeAll, expect, it } from 'vitest';
import { CLOUDWATCH_METRICS, PROMETHEUS_METRICS } from '../../core/numbers/metric-table.ts';
import { eventually } from '../support/eventually.ts';
import { tableBelow } from './documents.ts';
import { deadScenes } from './operations-dead.ts';
import { jobScenes } from './operations-jobs.ts';
import { BUILD_REPORT, lateScenes, OLD_REPORT } from './operations-late.ts';
import { page, settings, symptoms, toPattern } from './operations-page.ts';
import { PATIENCE, type Scene, type Stood, tidy } from './operations-scene.ts';
import { scheduleScenes } from './operations-schedules.ts';
import { databaseScenes } from './operations-tables.ts';
import { openTerminal, type Terminal } from './terminal.ts';

const scenes: Readonly<Record<string, Scene>> = {
  ...{ ...lateScenes, ...jobScenes, ...scheduleScenes },
  ...{ ...deadScenes, ...databaseScenes },
};

/** Exit codes of commands that fail wherever the page runs them. */
const ENDS: Readonly<Record<string, number>> = {
  'npx millrace migrate status': 1,
  // The page runs it while the function of the dispatcher is throttled.
  'npx millrace process': 1,
};

let terminal: Terminal;

beforeAll(async () => {
  terminal = await openTerminal();
  await terminal.project.writeHandler('build-report.ts', BUILD_REPORT);
  await terminal.project.writeHandler('old-report.ts', OLD_REPORT);
  const deployed = "select from millrace.handlers where job_type in ('build_report', 'old_report')";
  await eventually(async () => expect(await terminal.stack.query(deployed)).toHaveLength(2), PATIENCE);
});
afterAll(() => terminal?.close());

it('the scenes provoke every symptom of the page', () => {
  expect(Object.keys(scenes).toSorted()).toEqual(symptoms.map(({ heading }) => heading).toSorted());
});

/** Returns the exit code that a command of the page has: that of doctor depends on what the page shows. */
function endOf({ command, says }: Pick<(typeof symptoms)[number]['steps'][number], 'command' | 'says'>): number {
  if (command === 'npx millrace doctor') return says.some((words) => words.startsWith('FAIL')) ? 8 : 0;
  return ENDS[command] ?? 0;
}

/** Replaces the placeholders of the page by their current values. */
function filled(text: string, stood: Stood): string {
  return Object.entries(stood).reduce((words, [placeholder, value]) => words.replaceAll(placeholder, value), text);
}

it.each(symptoms)('the commands of the page name the cause: $heading', async ({ heading, steps }) => {
  const scene = scenes[heading] as Scene;
  await tidy(terminal);
  const stood = await scene.provoke(terminal);

  const answers = [];
  for (const { command, says } of steps) {
    const { code, stdout, stderr } = await terminal.attempt(`${settings} && ${filled(command, stood)}`);
    const output = `${stdout}\n${stderr}`;
    const missing = says.filter((words) => !toPattern(filled(words, stood)).test(output));
    answers.push({ command, code, missing, ...(missing.length > 0 && { output }) });
  }

  await scene.relieve(terminal, stood);
  expect(answers).toEqual(steps.map((step) => ({ command: step.command, code: endOf(step), missing: [] })));
});

it('the page shows the output of every command', () => {
  const silent = symptoms.flatMap(({ steps }) => steps).filter(({ says }) => says.length === 0);

  expect(silent.map(({ command }) => command)).toEqual([]);
});

it('the page names only published metrics to watch', () => {
  const rows = tableBelow(page, 'Metrics to watch');
  const names = (column: number) => rows.flatMap((row) => row[column]?.match(/(?<=`)[A-Za-z_]+(?=`)/g) ?? []);

  const [prometheus, cloudwatch] = [names(1), names(2)];

  expect(prometheus.filter((name) => name !== 'dead_lettered' && !(name in PROMETHEUS_METRICS))).toEqual([]);
  expect(cloudwatch.filter((name) => !(name in CLOUDWATCH_METRICS))).toEqual([]);
  expect(rows.length).toBeGreaterThan(7);
});
