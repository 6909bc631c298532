import { answer } from './answer.ts';
import { runCold } from './cold/cold.ts';
import { parseOptions, type Task } from './options.ts';
import { makePage } from './page/make-page.ts';
import { runSqs } from './sqs/sqs.ts';
import { runSynth } from './synth.ts';
import { UsageError } from './usage-error.ts';

const args = process.argv.slice(2);
const print = (text: string) => void process.stdout.write(`${text}\n`);

try {
  await run(parseOptions(args));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}

function run(task: Task): Promise<void> {
  switch (task.kind) {
    case 'questions':
      return answer(task, args, print);
    case 'page':
      return makePage(task.file, print);
    case 'sqs':
      return runSqs({ ...task, print });
    case 'cold':
      return runCold({ ...task, print });
    case 'synth':
      return runSynth({ ...task, print });
  }
}
