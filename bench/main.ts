import { parseArgs } from 'node:util';
import { runBench } from './run-bench.ts';

const { values } = parseArgs({
  allowNegative: true,
  options: {
    jobs: { type: 'string', default: '50000' },
    runs: { type: 'string', default: '3' },
    peers: { type: 'boolean', default: true },
  },
});

await runBench({
  jobs: positive('jobs', values.jobs),
  runs: positive('runs', values.runs),
  peers: values.peers,
  print: (text) => process.stdout.write(`${text}\n`),
});

function positive(name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new Error(`--${name}: expected a whole number above 0, got ${text}`);
}
