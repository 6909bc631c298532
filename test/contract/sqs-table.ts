import type { Reporter, TestCase, TestModule } from 'vitest/node';
import { KNOWN_FAULTS } from './sqs-known-faults.ts';
import { AWS, OURS, OURS_BY_QUERY, settingOf } from './sqs-servers.ts';

const CELLS = { passed: 'yes', failed: 'no', other: 'varies' } as const;

type Cell = (typeof CELLS)[keyof typeof CELLS];
type Columns = ReadonlyMap<string, Map<string, Cell>>;

/** Prints a table of behaviours and servers after the contract has run. */
export class SqsTable implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const columns: Columns = new Map(
      [OURS, OURS_BY_QUERY, AWS, ...Object.keys(KNOWN_FAULTS)].map((server) => [server, new Map()]),
    );
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const server = test.fullName.split(' > ').find((part) => columns.has(part));
        if (server !== undefined) columns.get(server)?.set(test.name, cellOf(test));
      }
    }
    process.stdout.write(`\n${[...tableOf(columns), '', countsOf(columns)].join('\n')}\n`);
  }
}

/** Returns what the server did: the test of a known fault passes when the behaviour fails. */
function cellOf(test: TestCase): Cell {
  const { state } = test.result();
  if (state !== 'passed' && state !== 'failed') return CELLS.other;
  const stated = state === 'passed';
  return stated !== (test.options.fails === true) ? CELLS.passed : CELLS.failed;
}

function tableOf(columns: Columns): string[] {
  const ran = [...columns].filter(([, cells]) => cells.size > 0);
  const head = ran.map(([server]) => labelOf(server));
  const names = [...new Set(ran.flatMap(([, cells]) => [...cells.keys()]))];
  const row = (cells: readonly string[], name: string) =>
    [...cells.map((cell, index) => cell.padEnd(head[index]?.length ?? 0)), name].join('  ');
  return [
    row(head, 'behaviour'),
    ...names.map((name) =>
      row(
        ran.map(([, cells]) => cells.get(name) ?? CELLS.other),
        name,
      ),
    ),
  ];
}

/** Returns one line with the result of every server, including those that did not run. */
function countsOf(columns: Columns): string {
  const counts = [...columns].map(([server, cells]) => {
    const met = [...cells.values()].filter((cell) => cell === CELLS.passed).length;
    const reason = process.env[`${settingOf(server)}_NOT_RUN`] ?? `${settingOf(server)} is not set`;
    return `${labelOf(server)} ${cells.size > 0 ? `${met}/${cells.size}` : `not run (${reason})`}`;
  });
  return `contract of SQS: ${counts.join(', ')}`;
}

function labelOf(server: string): string {
  return server === OURS ? 'ours' : server === OURS_BY_QUERY ? 'ours (query)' : server;
}
