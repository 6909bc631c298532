import { afterChange } from '../backend/after-change.ts';
import type { Backend } from '../backend/backend.ts';
import { withBackend } from '../backend/open.ts';
import { EXIT, type ExitCode, exitCodeOf } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { explainFailures } from '../redrive/named-jobs.ts';
import { toJson } from '../screen/json.ts';
import { print, printError, printRows } from '../screen/terminal.ts';

/** For each answer that reports no change: the exit code, and the predicate of a sentence about the job. */
export type Failures<Answer extends string> = Partial<Readonly<Record<Answer, readonly [ExitCode, string]>>>;

/** What a command does with each named job. */
interface Verb<Answer extends string> {
  readonly act: (backend: Backend, id: string) => Promise<Answer>;
  readonly failures: Failures<Answer>;
}

interface Answered<Answer> {
  readonly id: string;
  readonly answer: Answer;
}

/** Acts on each job once, prints the answers, and explains each answer that reports no change. */
export async function actOnEach<Answer extends string>(
  options: GlobalOptions,
  ids: ReadonlySet<string>,
  { act, failures }: Verb<Answer>,
): Promise<{ answers: readonly Answered<Answer>[]; code: ExitCode }> {
  const { answers, reasons } = await withBackend(options, async (backend) => {
    const done: Answered<Answer>[] = [];
    for (const id of ids) done.push({ id, answer: await act(backend, id) });
    const failed = done.filter(({ answer }) => failures[answer] !== undefined).map(({ id }) => id);
    return { answers: done, reasons: await afterChange(explainFailures(backend, failed)) };
  });
  if (options.json) print(toJson(answers));
  else
    printRows(
      ['ID', 'ANSWER'],
      answers.map(({ id, answer }) => [id, answer]),
    );
  for (const { id, answer } of answers) {
    const why = failures[answer]?.[1];
    if (why !== undefined) printError(`job ${id} ${reasons?.get(id) ?? why}`);
  }
  return { answers, code: exitCodeOf(answers.map(({ answer }) => failures[answer]?.[0] ?? EXIT.done)) };
}
