import { parseArgs } from 'node:util';
import { runCold } from './cold.ts';
import { compare } from './compare.ts';
import { runLoad } from './load.ts';
import { runOpenTestDatabase } from './open-test-database.ts';
import { runSqs } from './sqs/sqs.ts';
import { runStack } from './stack.ts';
import { runSynth } from './synth.ts';

const { values } = parseArgs({
  allowNegative: true,
  options: {
    jobs: { type: 'string', default: '50000' },
    runs: { type: 'string', default: '5' },
    batches: { type: 'string', default: '10,100,500' },
    peers: { type: 'boolean', default: true },
    pinned: { type: 'boolean', default: false },
    stack: { type: 'boolean', default: true },
    sqs: { type: 'boolean', default: false },
    synth: { type: 'boolean', default: false },
    cold: { type: 'boolean', default: false },
    handlers: { type: 'string', default: '300' },
  },
});

const STACK_SHARE = 0.1;
const SINGLES = 200;
const jobs = positive('jobs', values.jobs);
const runs = positive('runs', values.runs);
const print = (text: string) => void process.stdout.write(`${text}\n`);

if (values.sqs) {
  // Measures the SQS emulator alone, with messages instead of jobs.
  await runSqs({ messages: jobs, runs, print });
} else if (values.cold) {
  await runCold({ runs, print });
} else if (values.synth) {
  await runSynth({ handlers: positive('handlers', values.handlers), print });
} else {
  const batches = values.batches.split(',').map((text) => positive('batches', text));
  await compare({ jobs, runs, batches, peers: values.peers, pinned: values.pinned, print });
  await runLoad(print);
  await runOpenTestDatabase(print);
  if (values.stack) await runStack({ jobs: Math.ceil(jobs * STACK_SHARE), singles: Math.min(SINGLES, jobs), print });
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new Error(`--${name}: expected a whole number above 0, got ${text}`);
}
