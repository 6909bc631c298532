import { answer } from './answer.ts';
import { runCold } from './cold.ts';
import { parseOptions, type Task } from './options.ts';
import { makePage } from './page/make-page.ts';
import { runSqs } from './sqs/sqs.ts';
import { runSynth } from './synth.ts';

const args = process.argv.slice(2);
const print = (text: string) => void process.stdout.write(`${text}\n`);

const task = readTask();
if (task !== undefined) await run(task);

function readTask(): Task | undefined {
  try {
    return parseOptions(args);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 2;
    return undefined;
  }
}

function run(one: Task): Promise<void> {
  switch (one.kind) {
    case 'questions':
      return answer(one, args, print);
    case 'page':
      return makePage(one.file, print);
    case 'sqs':
      return runSqs({ ...one, print });
    case 'cold':
      return runCold({ ...one, print });
    case 'synth':
      return runSynth({ ...one, print });
  }
}
